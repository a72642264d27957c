package mailbox

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// deliver passes mails to a daemon like an MTA, each from a sender of its own domain.
func deliver(t *testing.T, s *harness.Site, senders int, bodies ...string) {
	t.Helper()
	m, err := harness.DialMilter("tcp", s.Milter, "192.0.2.1")
	testenv.Check(t, err)
	defer m.Close()
	for i, body := range bodies {
		p := harness.NewParcel([]byte(harness.Message(body))).From(fmt.Sprintf("bounce-%d@list%d.example", i, i%senders))
		testenv.Check(t, m.Begin(p))
		if final, added, err := m.End(); err != nil || final != 'a' && final != 'c' {
			t.Fatalf("answer %q %v, %v", final, added, err)
		}
	}
}

// A newsletter to the whole staff that one person marks is listed nowhere, also after a restart. A
// campaign of many senders that two people mark is. An administrator releases or refuses.
func TestHeldReports(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", testenv.Dir(t)+"/key", "").Start()
	copies := func(text, name string) (bodies []string) { // of a letter with a salutation
		for i := range 24 {
			bodies = append(bodies, fmt.Sprintf("Dear %s %s,\r\n\r\n%s", name, harness.Words[i], text))
		}
		return bodies
	}
	newsletter, campaign := copies(harness.Text(), "colleague"), copies(harness.Text(), "winner")
	deliver(t, s, 1, newsletter...)
	deliver(t, s, 12, campaign...)
	file := func(body string) string {
		path := testenv.Dir(t) + "/mail.eml"
		harness.Write(t, path, harness.Message(body))
		return path
	}
	report := func(who, body, want string) {
		t.Helper()
		if r := s.CLI("report", "--as", who, file(body)); r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("report by %s: %+v, want %q", who, r, want)
		}
	}
	listed := func(body string, want bool) {
		t.Helper()
		if got := s.Lists(t, harness.Request(body)); got != want {
			t.Errorf("listed %v, want %v", got, want)
		}
	}
	held := func(want int) {
		t.Helper()
		r := s.CLI("reports", "--contested", "--json")
		if got := strings.Count(r.Stdout, `"held":true`); r.Code != 0 || got != want {
			t.Errorf("%d are held, want %d: %+v", got, want, r)
		}
	}

	report("anna", newsletter[0], "of 1 sender that nobody reported, so the report is held")
	report("anna", campaign[0], "of 12 senders that nobody reported, so the report is held")
	listed(newsletter[0], false)
	listed(campaign[0], false)
	held(2)

	if code := s.Stop(syscall.SIGKILL); code != -1 {
		t.Errorf("the daemon ended with %d", code)
	}
	s.Start()
	held(2)
	report("bert", campaign[5], "It is spam from now on")
	listed(campaign[9], true) // a near-duplicate that nobody reported
	listed(newsletter[9], false)
	held(1)

	r := s.CLI("settle", "wanted", file(newsletter[0]))
	if r.Code != 0 {
		t.Errorf("settle: %+v", r)
	}
	held(0)
	report("bert", newsletter[0], "")
	listed(newsletter[0], false)
}
