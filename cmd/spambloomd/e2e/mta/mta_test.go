package mta

// The same cases for both mail servers, with the milter on a unix socket and on TCP. A case
// is a file in testdata/mta, whose README describes the format. One mail server serves all
// cases of its kind, one after another; each case has its own daemon.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// mailServer is a real MTA, Postfix or Sendmail, for the cases. Files of mails contain
// their text, and possibly more.
type mailServer interface {
	listener(name string) string         // address of one of its listeners, or ""
	copies() []string                    // files of delivered mail
	held() []string                      // files of quarantined mail
	waiting() []string                   // files of other mail
	release()                            // delivers quarantined mail
	command(from, rcpt string) *exec.Cmd // sendmail(1), which reads a mail
	dialogue() *exec.Cmd                 // speaks SMTP with its parent
}

// milterAddress is the address of a daemon, in the syntax of spambloomd.
type milterAddress struct{ network, address string }

func newMilterAddress(t *testing.T, network string) milterAddress {
	t.Helper()
	if network == "unix" {
		return milterAddress{network, filepath.Join(testenv.Dir(t), "milter.sock")}
	}
	return milterAddress{network, fmt.Sprintf("127.0.0.1:%d", testenv.Port(t))}
}

func (a milterAddress) String() string {
	if host, port, err := net.SplitHostPort(a.address); err == nil {
		return a.network + ":" + port + "@" + host
	}
	return a.network + ":" + a.address
}

// postfix returns the address in the syntax of main.cf.
func (a milterAddress) postfix() string { return a.network + ":" + a.address }

// milters are the two addresses of a case's daemon.
type milters struct{ first, second milterAddress }

// The users of the listener submission, with their password.
const (
	saslRealm    = "example.test"
	saslUser     = "anna"
	saslPassword = "secret"
)

// nobodyHere is a recipient that both mail servers of the cases reject.
const nobodyHere = "nobody-here@example.test"

func TestMTA(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		start func(*testing.T, milters) mailServer
	}{
		{"postfix", startCasesPostfix},
		{"sendmail", startCasesSendmail},
	} {
		for _, network := range []string{"unix", "inet"} {
			t.Run(kind.name+"/"+network, func(t *testing.T) {
				t.Parallel()
				m := milters{newMilterAddress(t, network), newMilterAddress(t, network)}
				runCases(t, kind.name, network, m, kind.start(t, m))
			})
		}
	}
}

// scriptT makes testscript run the cases of one mail server one after another.
type scriptT struct{ *testing.T }

func (scriptT) Parallel() {}

func (scriptT) Verbose() bool { return testing.Verbose() }

func (s scriptT) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(scriptT{t}) })
}

func runCases(t *testing.T, kind, network string, m milters, server mailServer) {
	testscript.RunT(scriptT{t}, testscript.Params{
		Dir: "testdata/mta",
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "postfix", "sendmail":
				return condition == kind, nil
			case "unix", "inet":
				return condition == network, nil
			case "sasl":
				return server.listener("submission") != "", nil
			case "ipv6":
				return server.listener("smtp6") != "", nil
			}
			return false, fmt.Errorf("no such condition")
		},
		Setup: func(env *testscript.Env) error {
			c := newMailCase(env.T().(scriptT).T, kind, network, m, server)
			c.dir = env.WorkDir
			env.Setenv("FIRST", m.first.String())
			env.Setenv("SECOND", m.second.String())
			env.Values["case"] = c
			env.Defer(c.end)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon":    caseCommand((*mailCase).daemon, 0, 1),
			"reload":    caseCommand((*mailCase).reload, 1, 1),
			"report":    caseCommand((*mailCase).report, 1, 2),
			"spambloom": caseCommand((*mailCase).spambloom, 2, 9),
			"terminate": caseCommand((*mailCase).terminate, 0, 0),
			"crash":     caseCommand((*mailCase).crash, 0, 0),
			"await-end": caseCommand((*mailCase).awaitEnd, 0, 0),
			"grow":      caseCommand((*mailCase).grow, 2, 2),

			"connect":   caseCommand((*mailCase).connect, 0, 3),
			"on":        caseCommand((*mailCase).on, 1, 1),
			"login":     caseCommand((*mailCase).login, 0, 0),
			"offered":   caseCommand((*mailCase).offered, 1, 1),
			"talk":      caseCommand((*mailCase).talk, 0, 0),
			"send":      caseCommand((*mailCase).send, 1, 100),
			"begin":     caseCommand((*mailCase).begin, 1, 1),
			"finish":    caseCommand((*mailCase).finish, 0, 0),
			"replies":   caseCommand((*mailCase).replies, 1, 100),
			"reply":     caseCommand((*mailCase).reply, 1, 1),
			"submit":    caseCommand((*mailCase).submit, 1, 1),
			"headers":   caseCommand((*mailCase).headers, 2, 2),
			"held":      caseCommand((*mailCase).held, 1, 1),
			"release":   caseCommand((*mailCase).release, 0, 0),
			"gone":      caseCommand((*mailCase).gone, 1, 1),
			"logged":    caseCommand((*mailCase).logged, 1, 100),
			"log-says":  caseCommand((*mailCase).logSays, 1, 1),
			"log-lacks": caseCommand((*mailCase).logLacks, 1, 1),
		},
	})
}

// caseCommand turns a method into a command of the scripts. The method receives the
// arguments, from least to most of them.
func caseCommand(method func(c *mailCase, args []string) error, least, most int) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, negated bool, args []string) {
		if negated || len(args) < least || len(args) > most {
			ts.Fatalf("not negated, and %d to %d arguments, are allowed", least, most)
		}
		ts.Check(method(ts.Value("case").(*mailCase), args))
	}
}

// mailCase is a running case: its daemon, and the state of its mails.
type mailCase struct {
	t       *testing.T
	kind    string
	network string
	milters milters
	server  mailServer
	site    *harness.Site
	dir     string
	open    map[string]*smtpDialogue // by name
	smtp    *smtpDialogue            // the current one of these; nil before the first connect

	lines int             // number of log lines for messages that were checked
	ids   map[string]bool // queue ids in them
	seen  bool            // the last mail was checked
}

// mailConfig is common to all daemons of the cases; a case only states differences.
const mailConfig = `
[milter]
listen = [%q, %q]
max_message = "1MiB"
[control]
group = "postfix"
[reports]
classes = true
[bulk]
count_networks = ["127.0.0.0/8", "::1/128"]
`

func newMailCase(t *testing.T, kind, network string, m milters, server mailServer) *mailCase {
	t.Helper()
	for _, files := range []func() []string{server.copies, server.held, server.waiting} {
		for _, path := range files() { // left by the previous case
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	c := &mailCase{t: t, kind: kind, network: network, milters: m, server: server, site: s, open: map[string]*smtpDialogue{}, ids: map[string]bool{}}
	changes := fmt.Sprintf(mailConfig, m.first, m.second)
	if kind != "postfix" {
		changes = strings.Replace(changes, `"postfix"`, `""`, 1)
	}
	s.Overlay(t, changes)
	return c
}

// end compares the log with the case: one line for each message.
func (c *mailCase) end() {
	for _, dialogue := range c.open {
		dialogue.close()
	}
	c.site.Stop(syscall.SIGTERM)
	if lines := c.site.MessageLines(); len(lines) != c.lines && !c.t.Failed() {
		c.t.Errorf("%d log lines for messages, the case checked %d:\n%s", len(lines), c.lines, c.site.Log())
	}
	if c.t.Failed() {
		c.t.Logf("log of spambloomd:\n%s", c.site.Log())
	}
}
