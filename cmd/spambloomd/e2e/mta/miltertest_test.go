package mta

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// miltertestConfig sets a different action for each class of spam.
const miltertestConfig = `
[milter]
listen = [%q]
max_message = "64KiB"
[reports]
classes = true
[actions]
spam_phish = "reject"
spam_scam = "tempfail"
spam_malware = "quarantine"
spam_bulk = "discard"
`

// The milter as seen by miltertest, a client that shares no code with the mail servers or
// with us. The scripts are in testdata/miltertest. The mails beside them are reported with
// the class of their name. A script line that begins with "-- log:" contains fields of the
// daemon's next line for a message.
func TestMiltertest(t *testing.T) {
	t.Parallel()
	command := testenv.Program(t, "miltertest")
	scripts, err := filepath.Glob("testdata/miltertest/*.lua")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	for _, network := range []string{"unix", "inet"} {
		t.Run(network, func(t *testing.T) {
			address := newMilterAddress(t, network)
			s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
			s.Overlay(t, fmt.Sprintf(miltertestConfig, address))
			s.Start()
			args := append(reportClasses(t, s), "-D", "socket="+address.String(), "-s")
			for _, script := range scripts {
				t.Run(strings.TrimSuffix(filepath.Base(script), ".lua"), func(t *testing.T) {
					before := len(s.MessageLines())
					if r := harness.Execute(t, "", command, append(args, script)...); r.Code != 0 {
						t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Stderr, s.Log())
					}
					expectLogged(t, s, before, script)
				})
			}
			testenv.Eventually(t, "the connections are gone", func() bool {
				_, metrics := s.Get("/metrics")
				return strings.Contains(metrics, "\nspambloom_milter_connections 0\n")
			})
			if code := s.Stop(syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d\n%s", code, s.Log())
			}
		})
	}
}

// reportClasses gives the scripts the id of each reported mail, in a variable with the
// class's name.
func reportClasses(t *testing.T, s *harness.Site) (args []string) {
	t.Helper()
	for _, class := range bloomdb.Classes() {
		text, err := os.ReadFile("testdata/miltertest/" + class.String() + ".eml")
		testenv.Check(t, err)
		request := api.NewRequest(signature.Compute(signature.Parse(text)))
		request.Class = class
		receipt, err := client.Post(t.Context(), s.Client(), v1.Report, request)
		testenv.Check(t, err)
		args = append(args, "-D", class.String()+"="+receipt.IDs[0])
	}
	return args
}

// expectLogged compares the lines of the log since a script began with its comments.
func expectLogged(t *testing.T, s *harness.Site, before int, script string) {
	t.Helper()
	text, err := os.ReadFile(script)
	testenv.Check(t, err)
	var wanted [][]string
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "-- log:"); found {
			wanted = append(wanted, strings.Fields(rest))
		}
	}
	testenv.Eventually(t, "the log has a line for each message", func() bool { return len(s.MessageLines()) >= before+len(wanted) })
	lines := s.MessageLines()[before:]
	if len(lines) != len(wanted) {
		t.Errorf("%d lines, want %d: %v", len(lines), len(wanted), lines)
	}
	for i := range wanted {
		for _, want := range wanted[i] {
			name, pattern, _ := strings.Cut(want, "=")
			if got := fmt.Sprint(lines[i][name]); !glob(pattern, got) {
				t.Errorf("line %d: %s is %q, want %s", i, name, got, pattern)
			}
		}
	}
}
