package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// brokenKind builds the daemon with one signature kind that panics at a word. Its error
// quotes the text, like those of many libraries.
func brokenKind(t *testing.T, word string) (path string) {
	t.Helper()
	source := filepath.Join(harness.Repository, "signature/compute.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const call = "add(digest.KindText, digest.Sum(digest.KindText, marked(carried, text)))"
	if strings.Count(string(text), call) != 1 {
		t.Fatalf("no %s in %s", call, source)
	}
	changed := strings.Replace(string(text), call, "panicAt(text)\n\t\t"+call, 1) +
		fmt.Sprintf("\nfunc panicAt(text []byte) {\n\tif strings.Contains(string(text), %q) {\n\t\tpanic(\"cannot sign \" + string(text))\n\t}\n}\n", word)
	return harness.ChangedProgram(t, "panics", "signature/compute.go", changed, "spambloomd")
}

// A signature kind that panics prevents the judgement of this one message only. The message
// passes with a header that reports it, the log contains the stack but not the text,
// /metrics counts it, and the next message on the same connection is judged and signed as
// usual.
func TestPanicInSignatureKind(t *testing.T) {
	t.Parallel()
	const word = "saxophone"
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Binary = brokenKind(t, word)
	s.Start()
	conn, reported := connect(s, t), harness.Text()
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(reported)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if a := conn.mail(t, word+" "+harness.Text()); a.header != "failed; reason=error; site=one" || a.action() != "tag" {
			t.Errorf("a message that cannot be signed is answered %+v", a)
		}
		if a := conn.mail(t, harness.Text()); a.verdict() != "clean" {
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
	if a := conn.mail(t, word+" "+harness.Text()); a.action() != "tempfail" {
		t.Errorf("with on_error = tempfail it is answered %+v", a)
	}
	if !s.Ready() {
		t.Error("/readyz is not ready")
	}
	log := s.Log()
	if strings.Count(log, `"message not judged"`) != 4 || !strings.Contains(log, "signature.panicAt") {
		t.Errorf("no stack in the log:\n%s", log)
	}
	if strings.Contains(log, word) || strings.Contains(log, "cannot sign") {
		t.Errorf("text of the message is in the log:\n%s", log)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
