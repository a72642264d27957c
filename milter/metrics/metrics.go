// Package metrics has the counters of a server of mail: messages by verdict and action,
// failures, connections, and the gauges of its load. Their names are those of Prometheus.
package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// Metrics are the metrics of one server. Causes of failures: overload, error, deadline (the
// message was not judged or answered), count (its sighting was not written to disk), spill
// (its body could not be written to disk or read), protocol, timeout, memory, connection
// (the MTA closed or broke it).
type Metrics struct {
	Messages *prometheus.CounterVec // verdict
	actions  *prometheus.CounterVec // action
	skipped  *prometheus.CounterVec // reason
	limits   *prometheus.CounterVec // limit
	failures *prometheus.CounterVec // cause
	bytes    prometheus.Counter
	judging  prometheus.Histogram

	spam   *prometheus.CounterVec // source: own, both, others
	bySite *prometheus.CounterVec // origin

	Greylisted *prometheus.CounterVec // result: deferred, returned

	Connections prometheus.Gauge
	Refused     *prometheus.CounterVec // reason
	Timeouts    *prometheus.CounterVec // stage
	Truncated   *prometheus.CounterVec // reason
	Spilled     prometheus.Counter
	Overtime    prometheus.Counter
}

// Labels are the values of labels that the server knows.
type Labels struct {
	Causes []string // why a message was not judged
	Stages []string // of slow connections
	Parts  []string // why only a part of a message was kept or judged
}

// New returns metrics that are zero.
func New(l Labels) *Metrics {
	return &Metrics{
		Messages: vec("spambloom_messages_total", "Messages answered, by verdict.", "verdict",
			string(policy.Spam), string(policy.Bulk), string(policy.Clean), string(policy.Allowed), string(policy.Skipped), string(policy.Failed)),
		actions: vec("spambloom_actions_total", "Messages answered, by action.", "action",
			string(policy.Accept), string(policy.Tag), string(policy.Quarantine), string(policy.Reject), string(policy.Tempfail), string(policy.Discard)),
		skipped: vec("spambloom_skipped_total", "Messages not judged on purpose, by reason.", "reason",
			policy.ReasonAuthenticated, policy.ReasonLocal, policy.ReasonOversize, policy.ReasonLittle),
		spam: vec("spambloom_spam_total", "Messages judged spam, by who reported them: only this site (own), only other sites (others), or both.", "source",
			sourceOwn, sourceBoth, sourceOthers),
		bySite: vec("spambloom_spam_by_site_total", "Messages judged spam without a report of this site, for each site that reported them.", "origin"),
		limits: vec("spambloom_limits_total", "Messages of which only a part was used, by limit exceeded.", "limit",
			signature.LimitNames()...),
		failures: vec("spambloom_milter_failures_total", "Failures of messages and connections, by cause.", "cause",
			append([]string{"count", "spill", "protocol", "timeout", "memory", "connection"}, l.Causes...)...),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_message_bytes_total", Help: "Header and body bytes of messages received."}),
		judging: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "spambloom_judging_seconds", Help: "Time from end of message to the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30}}),
		Greylisted: vec("spambloom_greylisted_total", "Messages deferred once, and their retries.", "result",
			"deferred", "returned"),
		Connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spambloom_milter_connections", Help: "Open connections of mail servers."}),
		Refused: vec("spambloom_milter_refused_total", "Connections closed at once, by limit exceeded.", "reason",
			door.ReasonConnections, door.ReasonClient),
		Timeouts: vec("spambloom_milter_timeouts_total", "Connections closed for being slow or old, by stage.", "stage",
			l.Stages...),
		Truncated: vec("spambloom_milter_truncated_total", "Messages not kept or judged as a whole, by limit exceeded.", "reason",
			l.Parts...),
		Spilled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_milter_spilled_total", Help: "Messages with a body in a temporary file."}),
		Overtime: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_milter_overtime_total", Help: "Messages that exceeded their turn while being signed; their senders were set back."}),
	}
}

// vec returns a counter with one label. It creates all known values at once, because alerts
// need them from the first scrape on.
func vec(name, help, label string, values ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		v.WithLabelValues(value)
	}
	return v
}

// Answered records a message of so many bytes that was answered, at a site.
func (t *Metrics) Answered(site string, size int64, d policy.Decision, took time.Duration) {
	t.Messages.WithLabelValues(string(d.Verdict)).Inc()
	t.actions.WithLabelValues(string(d.Action)).Inc()
	if d.Verdict == policy.Skipped {
		t.skipped.WithLabelValues(d.Reason).Inc()
	}
	if d.Verdict == policy.Spam {
		t.spamOf(site, d.Origins)
	}
	for _, name := range d.Limits.Names() {
		t.limits.WithLabelValues(name).Inc()
	}
	t.bytes.Add(float64(size))
	t.judging.Observe(took.Seconds())
}

// Values of the label source.
const (
	sourceOwn    = "own"
	sourceBoth   = "both"
	sourceOthers = "others"
)

// spamOf counts a spam by the sites that reported it. Only reports of the newest generation
// that lists it count.
func (t *Metrics) spamOf(own string, origins []string) {
	switch {
	case !slices.Contains(origins, own):
		t.spam.WithLabelValues(sourceOthers).Inc()
		for _, site := range origins {
			t.bySite.WithLabelValues(site).Inc()
		}
	case len(origins) > 1:
		t.spam.WithLabelValues(sourceBoth).Inc()
	default:
		t.spam.WithLabelValues(sourceOwn).Inc()
	}
}

// Failure counts a failure.
func (t *Metrics) Failure(cause string) { t.failures.WithLabelValues(cause).Inc() }

// Collectors returns the metrics, for a registry of the caller.
func (t *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{t.Messages, t.actions, t.skipped, t.spam, t.bySite, t.limits, t.failures, t.Greylisted, t.bytes, t.judging,
		t.Connections, t.Refused, t.Timeouts, t.Truncated, t.Spilled, t.Overtime}
}
