package spamd

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
)

// metrics are the metrics of one server. The milter's metrics of messages include those of
// this door.
type metrics struct {
	messages    *prometheus.CounterVec // verdict
	requests    *prometheus.CounterVec // command, code
	refused     *prometheus.CounterVec // reason
	broken      prometheus.Counter
	connections prometheus.Gauge
	waiting     prometheus.GaugeFunc
}

func newMetrics(d *door.Door) *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "spambloom_spamd_" + name, Help: help}
	}
	t := &metrics{
		messages: prometheus.NewCounterVec(counter("messages_total",
			"Messages judged for clients of spamd, by verdict; those of spambloom_messages_total include them."), []string{"verdict"}),
		requests: prometheus.NewCounterVec(counter("requests_total",
			"Requests answered, by command and code of the answer (sysexits.h; 0: success)."), []string{"command", "code"}),
		refused: prometheus.NewCounterVec(counter("refused_total",
			"Connections closed at once, because too many wait, by limit exceeded."), []string{"reason"}),
		broken:      prometheus.NewCounter(counter("broken_total", "Connections that ended within a request.")),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "spambloom_spamd_connections", Help: "Open connections of clients of spamd, with those that wait."}),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "spambloom_spamd_waiting", Help: "Connections of clients of spamd that wait for a place."},
			func() float64 { return float64(d.Waiting()) }),
	}
	for _, v := range []policy.Verdict{policy.Spam, policy.Bulk, policy.Clean, policy.Allowed, policy.Skipped, policy.Failed} {
		t.messages.WithLabelValues(string(v))
	}
	for command := range commands {
		t.requests.WithLabelValues(command, "0")
	}
	t.refused.WithLabelValues(door.ReasonConnections)
	t.refused.WithLabelValues(door.ReasonClient)
	return t
}

// count counts an answer. The command is empty if it is not known.
func (t *metrics) count(command string, code Code) {
	t.requests.WithLabelValues(command, strconv.Itoa(int(code))).Inc()
}

// Collectors returns the server's metrics, for a registry of the caller.
func (s *Server) Collectors() []prometheus.Collector {
	t := s.metrics
	return []prometheus.Collector{t.messages, t.requests, t.refused, t.broken, t.connections, t.waiting}
}
