// Package mta reads how the mail server of this machine, Postfix or Sendmail, uses its
// milters. It changes nothing, and does not judge what it reads.
package mta

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Milter is one milter in the order in which the mail server asks them.
type Milter struct {
	Spec          string // address, such as unix:spambloom/milter.sock
	Path          string // absolute path of a unix socket on this machine; "": a TCP address
	DefaultAction string // what the server does if the milter is away: accept, tempfail, ...
}

// NoLimit is the number of sessions of a mail server that does not limit them.
const NoLimit = -1

// Server is the configuration of a mail server.
type Server struct {
	Name    string // Postfix or Sendmail
	File    string // that lists the milters: main.cf or sendmail.mc
	Milters []Milter
	User    string // that connects to the sockets
	Chroot  string // folder that the server sees as /; "": none
	Queue   string // Postfix' queue folder, below which relative paths of sockets are

	Sessions int // of SMTP at a time, each with connections to the milters; NoLimit: any number

	Override string // setting in master.cf by which the list in main.cf has no effect; "": none
}

// fromOutside are the services of master.cf for mail from outside, the second one behind postscreen.
var fromOutside = []string{"smtp/inet", "smtpd/pass"}

// ReadPostfix asks postconf, of the instance in the folder config; "" is the usual one. The
// error wraps exec.ErrNotFound if there is no Postfix.
func ReadPostfix(ctx context.Context, config string) (*Server, error) {
	p := postconf{ctx, config}
	values, err := p.values("smtpd_milters", "milter_default_action", "queue_directory", "mail_owner", "config_directory", "default_process_limit")
	if err != nil {
		return nil, err
	}
	services, err := p.run("-M")
	if err != nil {
		return nil, err
	}
	queue := values["queue_directory"]
	s := &Server{Name: "Postfix", File: filepath.Join(values["config_directory"], "main.cf"), User: values["mail_owner"], Queue: queue,
		Sessions: sessions(services, values["default_process_limit"])}
	// service type private unpriv chroot ...: y in Debian's master.cf, else Postfix' default, n
	for line := range strings.Lines(services) {
		columns := strings.Fields(line)
		if len(columns) > 7 && slices.Contains(fromOutside, columns[0]+"/"+columns[1]) && columns[7] == "smtpd" && columns[4] == "y" {
			s.Chroot = queue
		}
	}
	if err := s.override(p, values); err != nil {
		return nil, err
	}
	for _, entry := range splitMilters(values["smtpd_milters"]) {
		m := parseMilter(entry, values["milter_default_action"])
		if path, ok := strings.CutPrefix(m.Spec, "unix:"); ok || strings.HasPrefix(m.Spec, "/") {
			if !ok {
				path = m.Spec
			}
			switch {
			case !filepath.IsAbs(path):
				m.Path = filepath.Join(queue, path)
			case s.Chroot != "":
				m.Path = filepath.Join(s.Chroot, path)
			default:
				m.Path = path
			}
		}
		s.Milters = append(s.Milters, m)
	}
	return s, nil
}

// sessions returns how many processes of smtpd may ask milters at a time, each with one SMTP session.
// A service without a limit of its own (-) has most.
func sessions(services, most string) (sum int) {
	for line := range strings.Lines(services) {
		columns := strings.Fields(line) // service type private unpriv chroot wakeup maxproc command ...
		if len(columns) < 8 || columns[7] != "smtpd" || strings.Contains(line, "no_milters") || strings.Contains(strings.Join(columns, " ")+" ", " smtpd_milters= ") {
			continue
		}
		limit := columns[6]
		if limit == "-" {
			limit = most
		}
		n, err := strconv.Atoi(limit)
		if err != nil || n == 0 {
			return NoLimit
		}
		sum += n
	}
	return sum
}

// override takes what master.cf sets for mail from outside in place of main.cf's values.
func (s *Server) override(p postconf, values map[string]string) error {
	for _, service := range fromOutside {
		for _, name := range []string{"smtpd_milters", "receive_override_options"} {
			out, err := p.run("-P", service+"/"+name) // nothing if it is not set
			if err != nil {
				return err
			}
			_, value, isSet := strings.Cut(out, "=")
			value = strings.TrimSpace(value)
			switch {
			case isSet && name == "smtpd_milters":
				values[name] = value
			case isSet && strings.Contains(value, "no_milters"):
				values["smtpd_milters"] = ""
			default:
				continue
			}
			s.Override = fmt.Sprintf("%s has -o %s=%s", service, name, value)
		}
	}
	return nil
}

// postconf is the program of that name, for one instance.
type postconf struct {
	ctx    context.Context
	config string
}

func (p postconf) run(args ...string) (string, error) {
	if p.config != "" {
		args = append([]string{"-c", p.config}, args...)
	}
	program := "postconf"
	if _, err := exec.LookPath(program); err != nil { // not in the PATH of users
		program = "/usr/sbin/postconf"
	}
	out, err := exec.CommandContext(p.ctx, program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("postconf: %w", err)
	}
	return string(out), nil
}

// values returns parameters with their values.
func (p postconf) values(names ...string) (map[string]string, error) {
	out, err := p.run(append([]string{"-x"}, names...)...)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(line, "=")
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return values, nil
}

// splitMilters splits a list at commas and blanks outside of braces.
func splitMilters(list string) (entries []string) {
	depth, begin := 0, -1
	for i, c := range list + " " {
		isBreak := depth == 0 && (c == ',' || c == ' ' || c == '\t')
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		switch {
		case isBreak && begin >= 0:
			entries = append(entries, list[begin:i])
			begin = -1
		case !isBreak && begin < 0:
			begin = i
		}
	}
	return entries
}

// parseMilter reads an entry: an address, or { address, name=value, ... }.
func parseMilter(entry, action string) Milter {
	m := Milter{Spec: entry, DefaultAction: action}
	inner, ok := strings.CutPrefix(entry, "{")
	if !ok {
		return m
	}
	for i, part := range strings.Split(strings.TrimSuffix(inner, "}"), ",") {
		part = strings.TrimSpace(part)
		name, value, _ := strings.Cut(part, "=")
		switch {
		case i == 0:
			m.Spec = part
		case strings.TrimSpace(name) == "default_action":
			m.DefaultAction = strings.TrimSpace(value)
		}
	}
	return m
}
