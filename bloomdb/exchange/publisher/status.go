package publisher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// Status returns the position of this site's snapshot in Redis, nil if there is none, and
// what was last moved aside, nil if nothing.
func (p *Publisher) Status() (snapshot *streams.Position, moved *Foreign) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown, p.moved
}

type metrics struct {
	published, publishedBytes prometheus.Counter
	snapshots                 prometheus.Counter
	snapshotBytes             prometheus.Gauge
	foreign                   prometheus.Counter
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &metrics{
		published:      counter("spambloom_exchange_published_total", "Deltas of this site added to its stream."),
		publishedBytes: counter("spambloom_exchange_published_bytes_total", "Bytes of these deltas."),
		snapshots:      counter("spambloom_exchange_snapshots_published_total", "Snapshots of this site published."),
		snapshotBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spambloom_exchange_snapshot_bytes", Help: "Bytes of this site's last snapshot in Redis.",
		}),
		foreign: counter("spambloom_exchange_moved_aside_total",
			"Times this site's stream was moved aside because another client had written its end."),
	}
}

// Collectors returns the publisher's metrics for a registry.
func (p *Publisher) Collectors() []prometheus.Collector {
	m := p.metrics
	return []prometheus.Collector{m.published, m.publishedBytes, m.snapshots, m.snapshotBytes, m.foreign}
}
