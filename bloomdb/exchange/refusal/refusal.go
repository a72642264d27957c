// Package refusal counts and logs the records of other sites that are refused.
//
// It owns the causes of refusals, by which they are shown, and their counts. It does not
// decide what is refused. Its lock is held for its own fields only, and taken last.
package refusal

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
)

// Counts are the refusals since the start. They are safe for concurrent use.
type Counts struct {
	log      *slog.Logger
	logLimit link.Limiter
	metric   *prometheus.CounterVec

	mu     sync.Mutex
	bySite map[string]map[string]int64 // by the names of sites and causes; "": unknown sites
}

// New returns counts without a refusal.
func New(log *slog.Logger) *Counts {
	return &Counts{
		log: log,
		metric: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spambloom_exchange_refused_total", Help: "News and deltas refused; site is empty if unknown.",
		}, []string{"site", "cause"}),
		bySite: make(map[string]map[string]int64),
	}
}

// Add counts a refusal and logs it once per site, cause and minute. The site is "" if
// unknown: names that anyone can invent fill neither the log nor the metrics.
func (c *Counts) Add(site string, cause Cause, err error) {
	c.metric.WithLabelValues(site, string(cause)).Inc()
	if c.logLimit.Allow(site + " " + string(cause)) {
		c.log.Warn("refused", "site", site, "cause", cause, "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySite[site] == nil {
		c.bySite[site] = make(map[string]int64)
	}
	c.bySite[site][string(cause)]++
}

// Forget removes the counts of a site.
func (c *Counts) Forget(site string) {
	c.metric.DeletePartialMatch(prometheus.Labels{"site": site})
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bySite, site)
}

// Of counts the refused records of a site by cause. It is nil if none was refused. The site
// "" stands for all unknown sites together.
func (c *Counts) Of(site string) map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.bySite[site])
}

// Collector returns the metric.
func (c *Counts) Collector() prometheus.Collector { return c.metric }
