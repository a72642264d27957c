package faults

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// A signature kind that panics prevents the judgement of this one message only. The message
// passes with a header that reports it, the log contains the stack but not the text,
// /metrics counts it, and the next message on the same connection is judged and signed as
// usual.
func TestPanicInSignatureKind(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Binary = faultyDaemon(t)
	s.Start()
	conn, reported := connect(s, t), harness.Text()
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(reported)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if a := conn.picture(t, panicWord+" "+harness.Text()); a.header != "failed; reason=error; site=one" || a.action() != "tag" {
			t.Errorf("a message that cannot be signed is answered %+v", a)
		}
		if a := conn.picture(t, harness.Text()); a.verdict() != "clean" {
			t.Errorf("the next message is answered %+v", a)
		}
		if a := conn.mail(t, reported); a.verdict() != "spam" {
			t.Errorf("a reported message after it is answered %+v", a)
		}
	}
	if n := s.Metric(`spambloom_milter_failures_total{cause="error"}`); n != 3 {
		t.Errorf("%v failures are counted", n)
	}
	s.Configure(t, "local_networks = []", "local_networks = []\non_error = \"tempfail\"")
	s.Reload(t, `"reloaded"`)
	if a := conn.picture(t, panicWord+" "+harness.Text()); a.action() != "tempfail" {
		t.Errorf("with on_error = tempfail it is answered %+v", a)
	}
	if !s.Ready() {
		t.Error("/readyz is not ready")
	}
	log := s.Log()
	if strings.Count(log, `"message not judged"`) != 4 || !strings.Contains(log, "signature.(*computer).compute") || !strings.Contains(log, "milter.panicking") {
		t.Errorf("no stack in the log:\n%s", log)
	}
	if strings.Contains(log, panicWord) || strings.Contains(log, "cannot sign") {
		t.Errorf("text of the message is in the log:\n%s", log)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// picture sends a message of a text and a picture on a connection.
func (c *soakConn) picture(t *testing.T, text string) soakAnswer {
	t.Helper()
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	m := &soakMail{
		header: [][2]string{{"From", "someone@example.net"}, {"MIME-Version", "1.0"}, {"Content-Type", "multipart/mixed; boundary=b"}},
		body: "--b\r\n\r\n" + text + "\r\n--b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			imageBomb(t) + "\r\n--b--\r\n",
	}
	a, err := c.play(new(soakPost).stamp(r, m).steps(c.silent), func() {})
	testenv.Check(t, err)
	return a
}
