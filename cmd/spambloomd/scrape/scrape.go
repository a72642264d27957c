// Package scrape answers requests for metrics. Collected metrics take ten times the memory of their
// text, so it makes the text first, and readers that are slow share one. Its lock is held while
// metrics are collected.
package scrape

import (
	"bytes"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// While texts are sent to readers, another request gets a text of its own, or one that was begun
// after it. If there are maxSent of them, it gets the latest one, unless that is older than maxAge.
const (
	maxSent = 8
	maxAge  = 5 * time.Second
)

// Handler returns the handler of /metrics. It logs errors of collectors.
func Handler(r *prometheus.Registry, log *slog.Logger) http.Handler {
	return &handler{collect: promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), DisableCompression: true,
	})}
}

type handler struct {
	collect http.Handler

	mu     sync.Mutex
	latest *text
	sent   int // texts that a reader has
}

// text is an answer. It is its own http.ResponseWriter.
type text struct {
	bytes.Buffer
	header  http.Header
	status  int
	begun   time.Time
	readers int // guarded by handler.mu
}

func (t *text) Header() http.Header    { return t.header }
func (t *text) WriteHeader(status int) { t.status = status }

func (h *handler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	t := h.take(time.Now())
	defer h.leave(t)
	w.Header().Set("Content-Type", t.header.Get("Content-Type"))
	w.WriteHeader(t.status)
	w.Write(t.Bytes()) // an error is the reader's
}

// take returns the answer to a request that arrived at a time.
func (h *handler) take(arrived time.Time) *text {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.latest
	if t == nil || t.begun.Before(arrived) && (h.sent < maxSent || time.Since(t.begun) >= maxAge) {
		t = &text{header: http.Header{}, status: http.StatusOK, begun: time.Now()}
		h.collect.ServeHTTP(t, &http.Request{Method: http.MethodGet})
		h.latest = t
	}
	if t.readers++; t.readers == 1 {
		h.sent++
	}
	return t
}

// leave returns an answer that was sent.
func (h *handler) leave(t *text) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.readers--; t.readers > 0 {
		return
	}
	h.sent--
	if h.latest == t {
		h.latest = nil
	}
}
