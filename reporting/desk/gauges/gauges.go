// Package gauges exports the state of the ledger as metrics. It owns their names, and no state.
//
//	ledger.Status, at each scrape -> gauges
package gauges

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/ledger"
)

// Ledger exports the state of a ledger.
type Ledger struct{ *ledger.Ledger }

var (
	reports   = prometheus.NewDesc("spambloom_ledger_reports", "Reports and revocations that are kept, with who made them.", nil, nil)
	reporters = prometheus.NewDesc("spambloom_ledger_reporters", "Reporters of whom something is known.", nil, nil)
	due       = prometheus.NewDesc("spambloom_ledger_due", "Decisions that are not carried out in the filters yet, or not yet forgotten.", nil, nil)
	size      = prometheus.NewDesc("spambloom_ledger_bytes", "Size of the ledger of reports on disk.", nil, nil)
	fault     = prometheus.NewDesc("spambloom_ledger_fault", "1 while the ledger of reports cannot be written.", nil, nil)
)

// Describe implements prometheus.Collector.
func (Ledger) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{reports, reporters, due, size, fault} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (l Ledger) Collect(ch chan<- prometheus.Metric) {
	s, err := l.Status()
	isFaulty := 0.0
	if err != nil || s.Error != "" {
		isFaulty = 1
	}
	for desc, v := range map[*prometheus.Desc]float64{
		reports: float64(s.Reports), reporters: float64(s.Reporters), due: float64(s.Due), size: float64(s.Bytes), fault: isFaulty,
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
}
