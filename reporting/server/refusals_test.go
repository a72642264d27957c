package server

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// However many requests a client has refused, the log has one line of a kind in a minute,
// with the number of them.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	const flood = 100
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		h := &handler{HandlerOptions: HandlerOptions{Log: logger}}
		r := &Remote{log: logger, refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"reason"})}
		refused := errors.New("not let in")
		kinds := []func(){
			func() {
				h.refuse(httptest.NewRecorder(), endpoint{path: "/v1/check", needs: askRight}, caller{}, "", api.NewProblem(http.StatusForbidden, "no"))
			},
			func() { r.refuse("tls", "192.0.2.1:1", refused) },
			func() { r.refuse("name", "192.0.2.1:1", refused) },
		}
		expect := func(when string, events string) {
			t.Helper()
			text := log.String()
			if n := strings.Count(text, "\n"); n != len(kinds) || strings.Count(text, " refused="+events+"\n") != len(kinds) {
				t.Errorf("%s: %d lines for %d kinds, want refused=%s in each: %.1000s", when, n, len(kinds), events, text)
			}
			log = logBuffer{}
		}
		for range flood {
			for _, refuse := range kinds {
				refuse()
			}
		}
		expect("flood", "1")
		time.Sleep(time.Minute)
		for _, refuse := range kinds {
			refuse()
		}
		expect("a minute later", "100")
		desktest.WantMetric(t, []prometheus.Collector{r.refused}, `refused{reason="tls"} 101`)
	})
}
