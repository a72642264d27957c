package exchange

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/publisher"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// Status is the state of the exchange.
type Status struct {
	// Connected means that news are received and the last command to Redis succeeded.
	Connected bool `json:"connected"`

	// Fault is the failure of Redis that lasts; nil: none.
	Fault *link.Fault `json:"fault,omitempty"`

	// LastError is the last fault, even if it has been overcome.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`

	// Published is the last own delta added to the stream. Snapshot is the last one
	// included in this site's snapshot in Redis; nil if there is none.
	Published streams.Position  `json:"published"`
	Snapshot  *streams.Position `json:"snapshot,omitempty"`

	// MovedAside is set after another client has written to this site's stream.
	MovedAside *publisher.Foreign `json:"moved_aside,omitempty"`

	Sites []SiteStatus `json:"sites"` // the others, by name

	// Refused counts the refusals of unknown names since the start, by cause.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// SiteStatus is the state of following one other site.
type SiteStatus = follower.SiteStatus

// Progress is the progress of reading a snapshot.
type Progress = follower.Progress

// Status returns the current state of the exchange.
func (x *Exchange) Status() Status {
	s := Status{Connected: x.link.IsConnected(), Published: streams.At(x.db.Head()), Sites: x.follower.Status(), Refused: x.refused.Of("")}
	s.Fault = x.link.Fault()
	s.Snapshot, s.MovedAside = x.publisher.Status()
	if fault, at := x.link.LastFault(); fault != "" {
		s.LastError, s.LastErrorAt = fault, &at
	}
	return s
}

// Collectors returns the exchange's metrics for a registry.
func (x *Exchange) Collectors() []prometheus.Collector {
	connected := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spambloom_exchange_connected",
		Help: "1 while news are received and the last command to Redis succeeded.",
	}, func() float64 {
		if x.link.IsConnected() {
			return 1
		}
		return 0
	})
	all := []prometheus.Collector{connected, x.subscriber.Collector(), x.refused.Collector()}
	return append(append(all, x.publisher.Collectors()...), x.follower.Collectors()...)
}
