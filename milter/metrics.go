package milter

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// metrics are the metrics of one server. Causes of failures: overload, error, deadline (the
// message was not judged or answered), count (its sighting was not written to disk), spill
// (its body could not be written to disk or read), protocol, timeout, memory, connection
// (the MTA closed or broke it).
type metrics struct {
	messages *prometheus.CounterVec // verdict
	actions  *prometheus.CounterVec // action
	skipped  *prometheus.CounterVec // reason
	limits   *prometheus.CounterVec // limit
	failures *prometheus.CounterVec // cause
	bytes    prometheus.Counter
	judging  prometheus.Histogram

	spam   *prometheus.CounterVec // source: own, both, others
	bySite *prometheus.CounterVec // origin

	greylisted *prometheus.CounterVec // result: deferred, returned

	connections prometheus.Gauge
	refused     *prometheus.CounterVec // reason
	timeouts    *prometheus.CounterVec // stage
	truncated   *prometheus.CounterVec // reason
	spilled     prometheus.Counter
	overtime    prometheus.Counter
}

func newMetrics() *metrics {
	t := &metrics{
		messages: vec("spambloom_messages_total", "Messages answered, by verdict.", "verdict",
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
			append([]string{"count", "spill", "protocol", "timeout", "memory", "connection"}, causes...)...),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_message_bytes_total", Help: "Header and body bytes of messages received."}),
		judging: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "spambloom_judging_seconds", Help: "Time from end of message to the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30}}),
		greylisted: vec("spambloom_greylisted_total", "Messages deferred once, and their retries.", "result",
			"deferred", "returned"),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spambloom_milter_connections", Help: "Open connections of mail servers."}),
		refused: vec("spambloom_milter_refused_total", "Connections closed at once, by limit exceeded.", "reason",
			door.ReasonConnections, door.ReasonClient),
		timeouts: vec("spambloom_milter_timeouts_total", "Connections closed for being slow or old, by stage.", "stage",
			stageOffer, stageIdle, stageEnvelope, stageContent, stagePacket, stageWrite, stageConnection),
		truncated: vec("spambloom_milter_truncated_total", "Messages not kept or judged as a whole, by limit exceeded.", "reason",
			overMessage, overMemory, overTurn),
		spilled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_milter_spilled_total", Help: "Messages with a body in a temporary file."}),
		overtime: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_milter_overtime_total", Help: "Messages that exceeded their turn while being signed; their senders were set back."}),
	}
	return t
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

func (t *metrics) message(m *message, d policy.Decision, took time.Duration) {
	t.messages.WithLabelValues(string(d.Verdict)).Inc()
	t.actions.WithLabelValues(string(d.Action)).Inc()
	if d.Verdict == policy.Skipped {
		t.skipped.WithLabelValues(d.Reason).Inc()
	}
	if d.Verdict == policy.Spam {
		t.spamOf(m.options.Site, d.Origins)
	}
	for _, name := range d.Limits.Names() {
		t.limits.WithLabelValues(name).Inc()
	}
	t.bytes.Add(float64(m.size))
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
func (t *metrics) spamOf(own string, origins []string) {
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

func (t *metrics) failure(cause string) { t.failures.WithLabelValues(cause).Inc() }

// Load is the server's current load. The JSON names are stable.
type Load struct {
	Connections int   `json:"connections"` // of mail servers
	Waiting     int   `json:"waiting"`     // complete messages waiting for a processor
	Judging     int   `json:"judging"`     // messages being judged within their turn
	Overtime    int   `json:"overtime"`    // messages being judged beyond their turn
	SetBack     int   `json:"set_back"`    // senders whose mail is judged after that of others
	Memory      int64 `json:"memory"`      // bytes held for messages in flight
	Packets     int64 `json:"packets"`     // bytes of packets being read
	Signing     int64 `json:"signing"`     // bytes booked for judging messages
	Spilled     int64 `json:"spilled"`     // bytes of messages in flight in temporary files
	Suspended   bool  `json:"suspended"`   // judging is suspended by the breaker
}

// Load returns the current load.
func (s *Server) Load() Load {
	l := Load{Memory: s.held.Load(), Packets: s.packets.Load(), Spilled: s.spilled.Load(), Suspended: s.isSuspended()}
	l.Waiting, l.Judging, l.Overtime = s.turns.State()
	l.SetBack, l.Signing = s.turns.Booked()
	l.Connections = s.door.Connections()
	return l
}

// Collectors returns the server's metrics, for a registry of the caller.
func (s *Server) Collectors() []prometheus.Collector {
	t := s.metrics
	gauge := func(name, help string, value func(Load) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(s.Load()) })
	}
	return []prometheus.Collector{t.messages, t.actions, t.skipped, t.spam, t.bySite, t.limits, t.failures, t.greylisted, t.bytes, t.judging,
		t.connections, t.refused, t.timeouts, t.truncated, t.spilled, t.overtime,
		gauge("spambloom_milter_waiting", "Messages waiting for a processor.", func(l Load) float64 { return float64(l.Waiting) }),
		gauge("spambloom_milter_judging", "Messages being judged.", func(l Load) float64 { return float64(l.Judging) }),
		gauge("spambloom_milter_overtime", "Messages being judged beyond their turn.", func(l Load) float64 { return float64(l.Overtime) }),
		gauge("spambloom_milter_set_back", "Senders (clients, networks, envelope senders) set back.", func(l Load) float64 { return float64(l.SetBack) }),
		gauge("spambloom_milter_memory_bytes", "Bytes held for messages in flight.", func(l Load) float64 { return float64(l.Memory) }),
		gauge("spambloom_milter_packet_bytes", "Bytes of packets being read.", func(l Load) float64 { return float64(l.Packets) }),
		gauge("spambloom_milter_signing_bytes", "Bytes booked for judging messages.", func(l Load) float64 { return float64(l.Signing) }),
		gauge("spambloom_milter_spilled_bytes", "Bytes of messages in flight in temporary files.", func(l Load) float64 { return float64(l.Spilled) }),
		gauge("spambloom_milter_breaker", "1 while judging is suspended, else 0.", func(l Load) float64 {
			if l.Suspended {
				return 1
			}
			return 0
		}),
	}
}
