package kept_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/figures/kept"
)

// Read adds up the series that a counter selects, and bounds the sites.
func TestRead(t *testing.T) {
	messages := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spambloom_messages_total"}, []string{"verdict"})
	reports := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spambloom_reports_total"}, []string{"action", "class"})
	bySite := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spambloom_spam_by_site_total"}, []string{"origin"})
	r := prometheus.NewRegistry()
	r.MustRegister(messages, reports, bySite)
	messages.WithLabelValues("spam").Add(3)
	messages.WithLabelValues("unknown").Add(9)
	reports.WithLabelValues("report", "phish").Add(1)
	reports.WithLabelValues("report", "other").Add(4)
	reports.WithLabelValues("revoke", "other").Add(2)
	got, err := kept.Read(r)
	want := map[string]float64{"spam": 3, "reports": 5, "revocations": 2}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for i := range 100 {
		bySite.WithLabelValues(fmt.Sprintf("mx%02d", i)).Inc()
	}
	if got, _ := kept.Read(r); len(got) != len(want)+32 || got["spam_from:mx07"] != 1 {
		t.Errorf("%d counters: %v", len(got), got)
	}
}
