package exchange

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the exchange's metrics for a registry.
func (x *Exchange) Collectors() []prometheus.Collector {
	return append(x.metrics.collectors(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spambloom_exchange_connected",
		Help: "1 while news are received and the last command to Redis succeeded.",
	}, func() float64 {
		if x.link.connected() {
			return 1
		}
		return 0
	}), lagCollector{x})
}

// metrics are the counters; site labels are bounded by maxSites.
type metrics struct {
	published      prometheus.Counter
	publishedBytes prometheus.Counter
	reconnects     prometheus.Counter
	applied        *prometheus.CounterVec
	refused        *prometheus.CounterVec
	gaps           *prometheus.CounterVec
	snapshots      prometheus.Counter
	snapshotBytes  prometheus.Gauge
	loaded         *prometheus.CounterVec
	foreign        prometheus.Counter
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "spambloom_exchange_" + name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spambloom_exchange_" + name, Help: help}, labels)
	}
	return &metrics{
		published:      counter("published_total", "Deltas of this site added to its stream."),
		publishedBytes: counter("published_bytes_total", "Bytes of these deltas."),
		reconnects:     counter("resubscriptions_total", "Subscriptions given up after a fault."),
		applied:        vec("applied_total", "Deltas of other sites applied.", "site"),
		refused:        vec("refused_total", "News and deltas refused; site is empty if unknown.", "site", "cause"),
		gaps:           vec("gaps_total", "Gaps in a stream that no snapshot filled at once.", "site"),
		snapshots:      counter("snapshots_published_total", "Snapshots of this site published."),
		snapshotBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spambloom_exchange_snapshot_bytes", Help: "Bytes of this site's last snapshot in Redis.",
		}),
		foreign: counter("moved_aside_total", "Times this site's stream was moved aside because another client had written its end."),
		loaded:  vec("snapshots_loaded_total", "Snapshots of other sites read completely.", "site"),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.published, m.publishedBytes, m.reconnects, m.applied, m.refused, m.gaps,
		m.snapshots, m.snapshotBytes, m.loaded, m.foreign}
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
type lagCollector struct{ x *Exchange }

func (c lagCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagDesc, lagSecondsDesc, openGapsDesc, skewDesc} {
		ch <- d
	}
}

func (c lagCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.x.Status().Sites {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Site)
		}
		gauge(lagDesc, float64(s.Lag))
		gauge(lagSecondsDesc, s.LagSeconds)
		gauge(openGapsDesc, float64(s.Gaps))
		gauge(skewDesc, s.SkewSeconds)
	}
}
