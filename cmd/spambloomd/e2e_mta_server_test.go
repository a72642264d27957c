package main

// The two mail servers of the cases. Each has the listeners
//
//	smtp        the first milter; without it, mail passes
//	smtp6       the same on ::1, where the machine has that
//	tempfail    the first milter; without it, mail is refused for now
//	second      the second milter
//	submission  the first milter, and users log in; where the machine has SASL

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// casesPostfix is Postfix for the cases.
type casesPostfix struct {
	*postfix
	listeners map[string]string
}

const casesMainCF = `
message_size_limit = 30000000
non_smtpd_milters = { %[1]s, default_action=accept }
smtpd_recipient_restrictions = check_recipient_access inline:{ {` + nobodyHere + ` = 550 5.1.1 User unknown} }
`

// casesMasterCF has the listeners, and what takes mail of programs in.
const casesMasterCF = `
127.0.0.1:%[3]d inet n - n - - smtpd
  -o { smtpd_milters = { %[1]s, default_action=tempfail } }
127.0.0.1:%[4]d inet n - n - - smtpd
  -o { smtpd_milters = { %[2]s, default_action=accept } }
127.0.0.1:%[5]d inet n - n - - smtpd
  -o smtpd_sasl_auth_enable=yes
pickup unix n - n 60 1 pickup
`

func startCasesPostfix(t *testing.T, m milters) mailServer {
	t.Helper()
	p := newPostfix(t)
	first, second := m.first.postfix(), m.second.postfix()
	ports := []int{freePort(t), freePort(t), freePort(t), freePort(t)}
	hasSASL := makeSASL(t, filepath.Join(p.dir, "etc/sasl"), "smtpd.conf", "postfix") // where Debian's Postfix looks
	p.extra = fmt.Sprintf(casesMainCF, first)
	p.services = fmt.Sprintf(casesMasterCF, first, second, ports[0], ports[1], ports[2])
	if hasIPv6() {
		p.extra += "inet_protocols = all\n"
		p.services += fmt.Sprintf("[::1]:%d inet n - n - - smtpd\n", ports[3])
	}
	p.start("cases", first, "n")
	c := &casesPostfix{p, map[string]string{"smtp": p.addr}}
	c.listeners["tempfail"], c.listeners["second"] = local(ports[0]), local(ports[1])
	if hasIPv6() {
		c.listeners["smtp6"] = net.JoinHostPort("::1", strconv.Itoa(ports[3]))
	}
	if hasSASL {
		c.listeners["submission"] = local(ports[2])
	}
	return c
}

// local is a TCP address on this machine.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (p *casesPostfix) listener(name string) string { return p.listeners[name] }

func (p *casesPostfix) copies() []string {
	return filesBelow(p.t, filepath.Join(p.dir, "mail/box/new"))
}
func (p *casesPostfix) held() []string { return filesBelow(p.t, filepath.Join(p.dir, "spool/hold")) }

func (p *casesPostfix) waiting() (files []string) {
	for _, queue := range []string{"maildrop", "incoming", "active", "deferred"} {
		files = append(files, filesBelow(p.t, filepath.Join(p.dir, "spool", queue))...)
	}
	return files
}

func (p *casesPostfix) release() {
	p.t.Helper()
	for _, command := range [][]string{{"postsuper", "-c", p.dir + "/etc", "-H", "ALL"}, {"postqueue", "-c", p.dir + "/etc", "-f"}} {
		if out, err := exec.Command(find(p.t, command[0]), command[1:]...).CombinedOutput(); err != nil {
			p.t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

func (p *casesPostfix) command(from, rcpt string) *exec.Cmd {
	return exec.Command(find(p.t, "sendmail"), "-C", filepath.Join(p.dir, "etc"), "-f", from, rcpt)
}

func (p *casesPostfix) dialogue() *exec.Cmd {
	return exec.Command(find(p.t, "sendmail"), "-C", filepath.Join(p.dir, "etc"), "-bs")
}

// filesBelow are the files in a folder and those below it; they come and go.
func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() && d.Name()[0] != '.' {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// casesSendmail is Sendmail for the cases.
type casesSendmail struct {
	*sendmail
	listeners map[string]string
}

func startCasesSendmail(t *testing.T, m milters) mailServer {
	t.Helper()
	s := newSendmail(t)
	c := &casesSendmail{s, map[string]string{"smtp": local(s.port)}}
	if hasIPv6() {
		c.listeners["smtp6"] = net.JoinHostPort("::1", strconv.Itoa(s.port))
	}
	for _, name := range []string{"tempfail", "second", "submission"} {
		port := freePort(t)
		c.listeners[name] = local(port)
		s.defines = append(s.defines, fmt.Sprintf("-DTEST_%s_PORT=%d", strings.ToUpper(name), port))
	}
	s.defines = append(s.defines, "-DTEST_SECOND_MILTER="+m.second.String())
	if sasl := filepath.Join(s.dir, "sasl"); makeSASL(t, sasl, "Sendmail.conf", "root") {
		s.defines = append(s.defines, "-DTEST_SASL="+sasl)
	} else {
		delete(c.listeners, "submission")
	}
	s.start(m.first.String())
	return c
}

func (s *casesSendmail) listener(name string) string { return s.listeners[name] }
func (s *casesSendmail) copies() []string            { return filesBelow(s.t, s.maildir) }

func (s *casesSendmail) held() (files []string) {
	for _, path := range filesBelow(s.t, filepath.Join(s.dir, "queue")) {
		if strings.HasPrefix(filepath.Base(path), "hf") {
			files = append(files, path)
		}
	}
	return files
}

// waiting leaves out the content of what is held.
func (s *casesSendmail) waiting() (files []string) {
	held := strings.Join(s.held(), "\n") + "\n"
	for _, path := range append(filesBelow(s.t, filepath.Join(s.dir, "queue")), filesBelow(s.t, filepath.Join(s.dir, "submitted"))...) {
		if id := filepath.Base(path)[2:]; !strings.Contains(held, id+"\n") {
			files = append(files, path)
		}
	}
	return files
}

func (s *casesSendmail) release() {
	s.t.Helper()
	for _, path := range s.held() {
		id := filepath.Base(path)[2:]
		for _, args := range [][]string{{"-qQ", "-Q", "-qI" + id}, {"-qI" + id}} {
			out, err := s.asHost(s.program(), append([]string{"-C", filepath.Join(s.dir, "sendmail.cf")}, args...)...).CombinedOutput()
			if err != nil {
				s.t.Fatalf("sendmail %s: %v\n%s", args, err, out)
			}
		}
	}
}

// command is sendmail(1) as Debian has it: it hands the mail to the daemon by SMTP.
func (s *casesSendmail) command(from, rcpt string) *exec.Cmd {
	return s.asHost(s.program(), "-C", filepath.Join(s.dir, "submit.cf"), "-f", from, rcpt)
}

func (s *casesSendmail) dialogue() *exec.Cmd {
	return s.asHost(s.program(), "-C", filepath.Join(s.dir, "sendmail.cf"), "-bs")
}

// makeSASL makes a folder with a file of settings of that name, and a database with
// the one user, for a program that runs as owner. It says whether the machine can.
func makeSASL(t *testing.T, dir, settings, owner string) bool {
	t.Helper()
	program, err := exec.LookPath("saslpasswd2")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/saslpasswd2"); err != nil {
			if os.Getenv("SPAMBLOOM_REQUIRE") == "all" {
				t.Fatal("missing: saslpasswd2 (apt-get install sasl2-bin, or make test as root)")
			}
			return false
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "sasldb2")
	command := exec.Command(program, "-p", "-c", "-f", database, "-u", saslRealm, saslUser)
	command.Stdin = strings.NewReader(saslPassword)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	write(t, filepath.Join(dir, settings), "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: "+database+"\nmech_list: PLAIN\n")
	for _, name := range []string{"sasldb2", settings} {
		if err := os.Chown(filepath.Join(dir, name), userID(t, owner), -1); err != nil {
			t.Fatal(err)
		}
	}
	return true
}
