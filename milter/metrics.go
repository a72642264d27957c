package milter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/signature"
)

// metrics are one server's. Causes of failures: panic, deadline, answer (the
// message was not judged or answered), count (its sighting is not on disk),
// protocol, timeout, connection (the MTA's side broke).
type metrics struct {
	messages *prometheus.CounterVec // verdict
	actions  *prometheus.CounterVec // action
	skipped  *prometheus.CounterVec // reason
	limits   *prometheus.CounterVec // limit
	failures *prometheus.CounterVec // cause
	bytes    prometheus.Counter
	judging  prometheus.Histogram

	greylisted *prometheus.CounterVec // result: deferred, returned

	connections prometheus.Gauge
	refused     prometheus.Counter
}

func newMetrics() *metrics {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	t := &metrics{
		messages: vec("spambloom_messages_total", "Messages answered, by verdict.", "verdict"),
		actions:  vec("spambloom_actions_total", "Messages answered, by action.", "action"),
		skipped:  vec("spambloom_skipped_total", "Messages not judged on purpose, by reason.", "reason"),
		limits:   vec("spambloom_limits_total", "Messages of which a part did not count, by the limit it was beyond.", "limit"),
		failures: vec("spambloom_milter_failures_total", "Failures of messages and connections, by cause.", "cause"),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_message_bytes_total", Help: "Header and body bytes of messages received."}),
		judging: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "spambloom_judging_seconds", Help: "Time from end of message to the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30}}),
		greylisted: vec("spambloom_greylisted_total", "Messages deferred once, and those of them that came again.", "result"),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spambloom_milter_connections", Help: "Open connections of mail servers."}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_milter_refused_total", Help: "Connections closed at once, over the limit."}),
	}
	for _, name := range signature.LimitNames() { // an alert wants each from the first scrape on
		t.limits.WithLabelValues(name)
	}
	for _, result := range []string{"deferred", "returned"} {
		t.greylisted.WithLabelValues(result)
	}
	return t
}

func (t *metrics) message(m *message, d Decision, took time.Duration) {
	t.messages.WithLabelValues(string(d.Verdict)).Inc()
	t.actions.WithLabelValues(string(d.Action)).Inc()
	if d.Verdict == Skipped {
		t.skipped.WithLabelValues(d.Reason).Inc()
	}
	for _, name := range d.Limits.Names() {
		t.limits.WithLabelValues(name).Inc()
	}
	t.bytes.Add(float64(m.size))
	t.judging.Observe(took.Seconds())
}

func (t *metrics) failure(cause string) { t.failures.WithLabelValues(cause).Inc() }

// Collectors are the server's metrics, for a registry of the caller's.
func (s *Server) Collectors() []prometheus.Collector {
	t := s.metrics
	return []prometheus.Collector{t.messages, t.actions, t.skipped, t.limits, t.failures, t.greylisted, t.bytes, t.judging,
		t.connections, t.refused}
}
