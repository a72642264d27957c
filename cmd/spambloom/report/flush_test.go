package report

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// The daemon's answer to a queued report decides which reports stay queued: those of a
// reporter who exceeded the limit, or of one whose revocation finds no room while there is room
// for the reports of others, or all if the daemon failed.
func TestFateOfWhatWaited(t *testing.T) {
	for status, want := range map[int]queue.Fate{
		200: queue.Settled, 403: queue.Settled, 409: queue.Settled, 422: queue.Settled,
		429: queue.Later, 503: queue.Later, 401: queue.Away, 404: queue.Away, 500: queue.Away,
	} {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		testenv.Check(t, err)
		server, done := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"detail":"so it is"}`)
		})}, make(chan error)
		go func() { done <- server.Serve(ln) }()
		c := &verb.CLI{Streams: verb.Streams{Out: io.Discard, Err: io.Discard}}
		k := &carrier{c: c, daemons: map[string]*client.Client{}}
		got := k.send(t.Context(), queue.Entry{Verb: "report", Control: "unix:" + path})
		delivered, dropped := status == 200, want == queue.Settled && status != 200
		if got != want || (k.done.Delivered > 0) != delivered || (k.done.Dropped > 0) != dropped {
			t.Errorf("%d: fate %v, want %v; %+v", status, got, want, k.done)
		}
		for _, daemon := range k.daemons {
			daemon.Close()
		}
		server.Close()
		<-done
	}
}
