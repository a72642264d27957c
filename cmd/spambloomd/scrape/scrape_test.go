package scrape

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// slow is a client that begins to read its answer when read is closed.
type slow struct {
	*httptest.ResponseRecorder
	read chan struct{}
}

func (s slow) Write(p []byte) (int, error) {
	<-s.read
	return s.ResponseRecorder.Write(p)
}

// TestSlowReaders is the attack "slow readers": however many there are, few texts are in memory, and
// others get one that is some seconds old at most.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collected := 0
		r := prometheus.NewRegistry()
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "collected"}, func() float64 { collected++; return float64(collected) }))
		h := Handler(r, slog.New(slog.DiscardHandler))
		ask := func(w http.ResponseWriter) { h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil)) }
		wants := func(what string, want int) {
			w := httptest.NewRecorder()
			ask(w)
			body, err := io.ReadAll(w.Result().Body)
			testenv.Check(t, err)
			if !strings.HasSuffix(string(body), fmt.Sprintf("\ncollected %d\n", want)) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
				t.Errorf("%s: %q %s, want %d", what, w.Header(), body, want)
			}
		}
		wants("the first", 1)
		time.Sleep(time.Millisecond)
		wants("the second", 2)
		read := make(chan struct{})
		for range 100 {
			go ask(slow{httptest.NewRecorder(), read})
			time.Sleep(time.Millisecond)
		}
		wants("beside slow readers", 2+maxSent)
		time.Sleep(maxAge)
		wants("some seconds later", 3+maxSent)
		close(read)
		synctest.Wait()
		wants("after them", 4+maxSent)
	})
}
