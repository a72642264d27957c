package reporters

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
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
}
