package learn

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The daemon is killed while an archive is learned, and loses what it had in memory. The next run must not
// skip that.
func TestDaemonKilled(t *testing.T) {
	control := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(asked), `"shop`) || strings.Contains(string(asked), `"shop11.`) {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"learned":true}`)
	})
	var archive strings.Builder
	for i := range 12 {
		fmt.Fprintf(&archive, "From x Thu Jan  1 00:00:00 2026\nFrom: a@shop%d.example\nSubject: letter\n\n", i)
		for word := range 40 {
			fmt.Fprintf(&archive, "word%dof%d ", word, i)
		}
		archive.WriteString("\n\n")
	}
	box := filepath.Join(t.TempDir(), "archive.mbox")
	testenv.Check(t, os.WriteFile(box, []byte(archive.String()), 0o600))
	var out, notes bytes.Buffer
	c := &verb.CLI{Streams: verb.Streams{Out: &out, Err: &notes}, Control: control}
	err := learn(t.Context(), c, []string{box}, flags{yes: true, skip: 2})
	stopped, ok := err.(*batch.StoppedError)
	if !ok || stopped.Count != 9 {
		t.Fatalf("%v; %s%s", err, &out, &notes)
	}
	if stopped.Skip != 2 || !strings.Contains(notes.String(), "may not be on disk") {
		t.Errorf("resumes after %d messages, want 2, since which all may be lost: %s", stopped.Skip, &notes)
	}
}

func serve(t *testing.T, answer http.HandlerFunc) (control string) {
	path := filepath.Join(testenv.Dir(t), "s")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	daemon, served := &http.Server{Handler: answer}, make(chan error)
	go func() { served <- daemon.Serve(ln) }()
	t.Cleanup(func() {
		daemon.Close()
		<-served
	})
	return "unix:" + path
}
