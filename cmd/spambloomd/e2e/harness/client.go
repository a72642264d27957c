package harness

import (
	"testing"

	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// Client uses the control socket. It reconnects after a restart.
func (s *Site) Client() *reporting.Client {
	s.T.Helper()
	if s.Reporter != nil {
		return s.Reporter
	}
	c, err := reporting.Dial(s.Control)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(c.Close)
	s.Reporter = c
	return c
}

// Check checks a message through the control socket, without a process.
func (s *Site) Check(t testing.TB, body string) reporting.Answer {
	t.Helper()
	answer, err := s.Client().Check(t.Context(), reporting.NewRequest(signature.Compute(signature.Parse([]byte(Message(body))))))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Request returns a message's signatures as the command would send them.
func Request(body string) reporting.Request {
	return reporting.NewRequest(signature.Compute(signature.Parse([]byte(Message(body)))))
}

// ExpectListed checks each message.
func ExpectListed(t testing.TB, s *Site, reported []reporting.Request) {
	t.Helper()
	client := s.Client()
	lost := 0
	for _, r := range reported {
		answer, err := client.Check(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Verdict != "spam" {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged reports are lost", lost, len(reported))
	}
}

func Verdict(t testing.TB, site *reporting.Client, r reporting.Request) string {
	answer, err := site.Check(t.Context(), r)
	if err != nil {
		t.Error(err)
	}
	return answer.Verdict
}

func (s *Site) MustReport(t testing.TB, r reporting.Request) {
	t.Helper()
	if _, err := s.Client().Report(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func (s *Site) Lists(t testing.TB, r reporting.Request) bool {
	t.Helper()
	answer, err := s.Client().Check(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Verdict == "spam"
}
