package reporters

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

// If a step fails, the sum is that of the steps before, and the error that of the step.
func TestUndoStops(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	testenv.Check(t, err)
	asked := 0
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > 2 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusInsufficientStorage)
			_, _ = w.Write([]byte(`{"status": 507, "title": "no room", "detail": "the disk is full"}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"reports": 3, "revocations": 1, "delisted": 2, "relisted": 1, "next": 7}`))
	})}
	served := make(chan error)
	go func() { served <- daemon.Serve(l) }()
	t.Cleanup(func() {
		daemon.Close()
		<-served
	})
	c, err := client.Dial("unix:" + socket)
	testenv.Check(t, err)
	defer c.Close()
	counted := 0
	sum, err := withdraw(t.Context(), c, "anna", undoFlags{since: time.Unix(1, 0)}, func() { counted++ })
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("error %v", err)
	}
	if sum.Reports != 6 || sum.Revocations != 2 || sum.Delisted != 4 || sum.Relisted != 2 || counted != 8 {
		t.Errorf("%+v, %d counted", sum, counted)
	}
	cmd := UndoCommand(&verb.CLI{Streams: verb.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Control: "unix:" + socket})
	cmd.SetArgs([]string{"--yes", "--since", "2020-01-01", "anna"})
	if hint := verb.Hint(cmd.ExecuteContext(t.Context())); !strings.Contains(hint, "a part may have been done") {
		t.Errorf("the hint after a failed first step is %q", hint)
	}
}

// While the daemon does not trust the wall clock, --since is an age by the daemon's own time, which its reports have.
func TestUndoByTheDaemonsClock(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	testenv.Check(t, err)
	var since time.Time
	daemon := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/status") {
			_, _ = w.Write([]byte(`{"database": {"clock": {"time": "2020-05-04T12:00:00Z", "ahead_seconds": 1814400}}}`))
			return
		}
		var ask api.UndoRequest
		testenv.Check(t, json.NewDecoder(r.Body).Decode(&ask))
		since = ask.Since
		_, _ = w.Write([]byte(`{"reports": 1}`))
	})}
	served := make(chan error)
	go func() { served <- daemon.Serve(l) }()
	t.Cleanup(func() {
		daemon.Close()
		<-served
	})
	cmd := UndoCommand(&verb.CLI{Streams: verb.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Control: "unix:" + socket})
	cmd.SetArgs([]string{"--yes", "--since", "1h", "anna"})
	testenv.Check(t, cmd.ExecuteContext(t.Context()))
	if want := time.Date(2020, 5, 4, 11, 0, 0, 0, time.UTC); !since.Equal(want) {
		t.Errorf("reports since %s are undone, want %s", since, want)
	}
}
