package figures_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/figures"
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
	got, err := figures.Read(r)
	want := map[string]float64{"spam": 3, "reports": 5, "revocations": 2}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for i := range 100 {
		bySite.WithLabelValues(fmt.Sprintf("mx%02d", i)).Inc()
	}
	if got, _ := figures.Read(r); len(got) != len(want)+32 || got["spam_from:mx07"] != 1 {
		t.Errorf("%d counters: %v", len(got), got)
	}
}

func TestWords(t *testing.T) {
	for key, want := range map[string][2]string{"spam": {"spam", ""}, "spam_from:mx2": {"caught only because of other sites", "mx2"}, "else": {"else", ""}} {
		if words, of := figures.Words(key); words != want[0] || of != want[1] {
			t.Errorf("%s: %q, %q", key, words, of)
		}
	}
	keys := map[string]bool{}
	for _, c := range figures.Kept {
		if c.Key == "" || c.Words == "" || keys[c.Key] {
			t.Errorf("%+v: no key, no words, or twice", c)
		}
		keys[c.Key] = true
	}
	if len(keys)+32 > 96 {
		t.Errorf("%d keys and 32 sites are more than a file of the history takes", len(keys))
	}
}
