package follower

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters. Their sites are bounded by streams.MaxSites: forget removes the others.
type metrics struct {
	applied, gaps, loaded *prometheus.CounterVec
}

func newMetrics() *metrics {
	bySite := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"site"})
	}
	return &metrics{
		applied: bySite("spambloom_exchange_applied_total", "Deltas of other sites applied."),
		gaps:    bySite("spambloom_exchange_gaps_total", "Gaps in a stream that no snapshot filled at once."),
		loaded:  bySite("spambloom_exchange_snapshots_loaded_total", "Snapshots of other sites read completely."),
	}
}

// forget removes the counters of a site.
func (m *metrics) forget(site string) {
	for _, c := range []*prometheus.CounterVec{m.applied, m.gaps, m.loaded} {
		c.DeleteLabelValues(site)
	}
}

// Collectors returns the follower's metrics for a registry.
func (f *Follower) Collectors() []prometheus.Collector {
	return []prometheus.Collector{f.metrics.applied, f.metrics.gaps, f.metrics.loaded, lagCollector{f}}
}

// Values read of every site at each scrape.
var (
	lagDesc = prometheus.NewDesc("spambloom_exchange_lag",
		"Deltas published by another site and not applied here.", []string{"site"}, nil)
	lagSecondsDesc = prometheus.NewDesc("spambloom_exchange_lag_seconds",
		"Time for which data of a site has been waiting to be applied.", []string{"site"}, nil)
	openGapsDesc = prometheus.NewDesc("spambloom_exchange_open_gaps",
		"Gaps that no snapshot has filled since.", []string{"site"}, nil)
	skewDesc = prometheus.NewDesc("spambloom_exchange_clock_skew_seconds",
		"How far a site's clock is ahead of ours; negative if behind.", []string{"site"}, nil)
)

// lagCollector reads them.
type lagCollector struct{ f *Follower }

func (c lagCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagDesc, lagSecondsDesc, openGapsDesc, skewDesc} {
		ch <- d
	}
}

func (c lagCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.f.Status() {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Site)
		}
		gauge(lagDesc, float64(s.Lag))
		gauge(lagSecondsDesc, s.LagSeconds)
		gauge(openGapsDesc, float64(s.Gaps))
		gauge(skewDesc, s.SkewSeconds)
	}
}
