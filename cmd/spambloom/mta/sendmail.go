package mta

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SendmailFolder is the usual folder of Sendmail's configuration.
const SendmailFolder = "/etc/mail"

// ReadSendmail reads the sendmail.cf in a folder, which is made from sendmail.mc. The error
// wraps fs.ErrNotExist if there is none.
func ReadSendmail(folder string) (*Server, error) {
	f, err := os.Open(filepath.Join(folder, "sendmail.cf"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &Server{Name: "Sendmail", File: filepath.Join(folder, "sendmail.mc"), User: "root", Sessions: NoLimit}
	filters, order := make(map[string]Milter), []string(nil)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if list, ok := strings.CutPrefix(line, "O InputMailFilters="); ok {
			for name := range strings.SplitSeq(list, ",") {
				order = append(order, strings.TrimSpace(name))
			}
		}
		if limit, ok := strings.CutPrefix(line, "O MaxDaemonChildren="); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(limit)); err == nil && n > 0 {
				s.Sessions = n
			}
		}
		if strings.HasPrefix(line, "X") {
			name, rest, _ := strings.Cut(line[1:], ",")
			filters[strings.TrimSpace(name)] = parseFilter(rest)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range order {
		if m, ok := filters[name]; ok {
			s.Milters = append(s.Milters, m)
		}
	}
	return s, nil
}

// parseFilter reads the equates of an X line: S=unix:PATH, F=T, T=...
func parseFilter(equates string) Milter {
	m := Milter{DefaultAction: "accept"}
	for part := range strings.SplitSeq(equates, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.TrimSpace(name) {
		case "S":
			m.Spec = strings.TrimSpace(value)
		case "F":
			switch strings.TrimSpace(value) {
			case "T":
				m.DefaultAction = "tempfail"
			case "R":
				m.DefaultAction = "reject"
			}
		}
	}
	for _, scheme := range []string{"unix:", "local:"} {
		if path, ok := strings.CutPrefix(m.Spec, scheme); ok {
			m.Path = path
		}
	}
	return m
}
