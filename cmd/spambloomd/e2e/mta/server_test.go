package mta

// The two mail servers of the cases. Each has the listeners
//
//	smtp        the first milter; without it, mail passes
//	smtp6       the same on ::1, if the machine has it
//	tempfail    the first milter; without it, mail is deferred
//	second      the second milter
//	submission  the first milter, and users log in, if the machine has SASL

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

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/sendmail"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// casesPostfix is Postfix for the cases.
type casesPostfix struct {
	*harness.Postfix
	listeners map[string]string
}

const casesMainCF = `
message_size_limit = 30000000
non_smtpd_milters = { %[1]s, default_action=accept }
smtpd_recipient_restrictions = check_recipient_access inline:{ {` + nobodyHere + ` = 550 5.1.1 User unknown} }
`

// casesMasterCF contains the listeners.
const casesMasterCF = `
127.0.0.1:%[3]d inet n - n - - smtpd
  -o { smtpd_milters = { %[1]s, default_action=tempfail } }
127.0.0.1:%[4]d inet n - n - - smtpd
  -o { smtpd_milters = { %[2]s, default_action=accept } }
127.0.0.1:%[5]d inet n - n - - smtpd
  -o smtpd_sasl_auth_enable=yes
`

func startCasesPostfix(t *testing.T, m milters) mailServer {
	t.Helper()
	p := harness.NewPostfix(t)
	first, second := m.first.postfix(), m.second.postfix()
	ports := []int{testenv.Port(t), testenv.Port(t), testenv.Port(t), testenv.Port(t)}
	hasSASL := makeSASL(t, filepath.Join(p.Dir, "etc/sasl"), "smtpd.conf", "postfix") // where Debian's Postfix looks for it
	p.Extra = fmt.Sprintf(casesMainCF, first)
	p.Services = fmt.Sprintf(casesMasterCF, first, second, ports[0], ports[1], ports[2])
	if testenv.HasIPv6() {
		p.Extra += "inet_protocols = all\n"
		p.Services += fmt.Sprintf("[::1]:%d inet n - n - - smtpd\n", ports[3])
	}
	p.Start("cases", first, "n")
	c := &casesPostfix{p, map[string]string{"smtp": p.Addr}}
	c.listeners["tempfail"], c.listeners["second"] = testenv.Local(ports[0]), testenv.Local(ports[1])
	if testenv.HasIPv6() {
		c.listeners["smtp6"] = net.JoinHostPort("::1", strconv.Itoa(ports[3]))
	}
	if hasSASL {
		c.listeners["submission"] = testenv.Local(ports[2])
	}
	return c
}

func (p *casesPostfix) listener(name string) string { return p.listeners[name] }

func (p *casesPostfix) copies() []string {
	return filesBelow(p.T, filepath.Join(p.Dir, "mail/box/new"))
}

func (p *casesPostfix) held() []string { return filesBelow(p.T, filepath.Join(p.Dir, "spool/hold")) }

func (p *casesPostfix) waiting() (files []string) {
	for _, queue := range []string{"maildrop", "incoming", "active", "deferred"} {
		files = append(files, filesBelow(p.T, filepath.Join(p.Dir, "spool", queue))...)
	}
	return files
}

func (p *casesPostfix) release() {
	p.T.Helper()
	etc := filepath.Join(p.Dir, "etc")
	if r := harness.Execute(p.T, "", testenv.Program(p.T, "postsuper"), "-c", etc, "-H", "ALL"); r.Code != 0 {
		p.T.Fatalf("postsuper: %+v", r)
	}
	p.Drive("what was held is delivered", func() bool { return len(p.waiting()) == 0 })
}

func (p *casesPostfix) command(from, rcpt string) *exec.Cmd {
	return exec.Command(testenv.Program(p.T, "sendmail"), "-C", filepath.Join(p.Dir, "etc"), "-f", from, rcpt)
}

func (p *casesPostfix) dialogue() *exec.Cmd {
	return exec.Command(testenv.Program(p.T, "sendmail"), "-C", filepath.Join(p.Dir, "etc"), "-bs")
}

// filesBelow returns the files in a folder and its subfolders; they may change at any time.
func filesBelow(t testing.TB, dir string) (files []string) {
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
	testenv.Check(t, err)
	return files
}

// casesSendmail is Sendmail for the cases.
type casesSendmail struct {
	*sendmail.Server
	listeners map[string]string
}

func startCasesSendmail(t *testing.T, m milters) mailServer {
	t.Helper()
	s := sendmail.New(t)
	c := &casesSendmail{s, map[string]string{"smtp": testenv.Local(s.Port)}}
	if testenv.HasIPv6() {
		c.listeners["smtp6"] = net.JoinHostPort("::1", strconv.Itoa(s.Port))
	}
	for _, name := range []string{"tempfail", "second", "submission"} {
		port := testenv.Port(t)
		c.listeners[name] = testenv.Local(port)
		s.Defines = append(s.Defines, fmt.Sprintf("-DTEST_%s_PORT=%d", strings.ToUpper(name), port))
	}
	s.Defines = append(s.Defines, "-DTEST_SECOND_MILTER="+m.second.String())
	if sasl := filepath.Join(s.Dir, "sasl"); makeSASL(t, sasl, "Sendmail.conf", "root") {
		s.Defines = append(s.Defines, "-DTEST_SASL="+sasl)
	} else {
		delete(c.listeners, "submission")
	}
	s.Start(m.first.String())
	return c
}

func (s *casesSendmail) listener(name string) string { return s.listeners[name] }

func (s *casesSendmail) copies() []string { return filesBelow(s.T, s.Maildir) }

func (s *casesSendmail) held() (files []string) {
	for _, path := range filesBelow(s.T, filepath.Join(s.Dir, "queue")) {
		if strings.HasPrefix(filepath.Base(path), "hf") {
			files = append(files, path)
		}
	}
	return files
}

// waiting omits the content of quarantined mail.
func (s *casesSendmail) waiting() (files []string) {
	held := strings.Join(s.held(), "\n") + "\n"
	for _, path := range append(filesBelow(s.T, filepath.Join(s.Dir, "queue")), filesBelow(s.T, filepath.Join(s.Dir, "submitted"))...) {
		if id := filepath.Base(path)[2:]; !strings.Contains(held, id+"\n") {
			files = append(files, path)
		}
	}
	return files
}

// release retries each mail until it has left: a queue run skips a mail that another
// process has locked.
func (s *casesSendmail) release() {
	s.T.Helper()
	run := func(args ...string) {
		out, err := s.AsHost(s.Program(), append([]string{"-C", filepath.Join(s.Dir, "sendmail.cf")}, args...)...).CombinedOutput()
		if err != nil {
			s.T.Fatalf("sendmail %s: %v\n%s", args, err, out)
		}
	}
	testenv.Eventually(s.T, "the held mail is delivered", func() bool {
		for _, path := range s.held() {
			run("-qQ", "-Q", "-qI"+filepath.Base(path)[2:])
		}
		if len(s.waiting()) > 0 {
			run("-q")
		}
		return len(s.held())+len(s.waiting()) == 0
	})
}

// command is sendmail(1) as in Debian: it sends the mail to the daemon by SMTP.
func (s *casesSendmail) command(from, rcpt string) *exec.Cmd {
	return s.AsHost(s.Program(), "-C", filepath.Join(s.Dir, "submit.cf"), "-f", from, rcpt)
}

func (s *casesSendmail) dialogue() *exec.Cmd {
	return s.AsHost(s.Program(), "-C", filepath.Join(s.Dir, "sendmail.cf"), "-bs")
}

// makeSASL creates a folder with a settings file of that name, and a database with the one
// user, for a program that runs as owner. It reports whether the machine can do this.
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
	testenv.Check(t, os.Mkdir(dir, 0o755))
	database := filepath.Join(dir, "sasldb2")
	command := exec.Command(program, "-p", "-c", "-f", database, "-u", saslRealm, saslUser)
	command.Stdin = strings.NewReader(saslPassword)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	harness.Write(t, filepath.Join(dir, settings), "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: "+database+"\nmech_list: PLAIN\n")
	for _, name := range []string{"sasldb2", settings} {
		testenv.Check(t, os.Chown(filepath.Join(dir, name), harness.UserID(t, owner), -1))
	}
	return true
}
