package metrics

import "github.com/prometheus/client_golang/prometheus"

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

// Gauges returns the metrics of a load, which is asked at each scrape.
func Gauges(load func() Load) []prometheus.Collector {
	gauge := func(name, help string, value func(Load) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(load()) })
	}
	return []prometheus.Collector{
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
