package harness

import (
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// Client uses the control socket. It reconnects after a restart.
func (s *Site) Client() *client.Client {
	s.T.Helper()
	if s.Reporter != nil {
		return s.Reporter
	}
	c, err := client.Dial(s.Control)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(c.Close)
	s.Reporter = c
	return c
}

// Check checks a message through the control socket, without a process.
func (s *Site) Check(t testing.TB, body string) api.Answer {
	t.Helper()
	answer, err := client.Post(t.Context(), s.Client(), v1.Check, api.NewRequest(signature.Compute(signature.Parse([]byte(Message(body))))))
	testenv.Check(t, err)
	return answer
}

// Request returns a message's signatures as the command would send them.
func Request(body string) api.Request {
	return api.NewRequest(signature.Compute(signature.Parse([]byte(Message(body)))))
}

// ExpectListed checks each message.
func ExpectListed(t testing.TB, s *Site, reported []api.Request) {
	t.Helper()
	daemon := s.Client()
	lost := 0
	for _, r := range reported {
		answer, err := client.Post(t.Context(), daemon, v1.Check, r)
		testenv.Check(t, err)
		if answer.Verdict != "spam" {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged reports are lost", lost, len(reported))
	}
}

func Verdict(t testing.TB, site *client.Client, r api.Request) string {
	answer, err := client.Post(t.Context(), site, v1.Check, r)
	if err != nil {
		t.Error(err)
	}
	return answer.Verdict
}

func (s *Site) MustReport(t testing.TB, r api.Request) {
	t.Helper()
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, r); err != nil {
		t.Fatal(err)
	}
}

func (s *Site) Lists(t testing.TB, r api.Request) bool {
	t.Helper()
	answer, err := client.Post(t.Context(), s.Client(), v1.Check, r)
	testenv.Check(t, err)
	return answer.Verdict == "spam"
}
