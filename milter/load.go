package milter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/milter/metrics"
)

// Load is the server's current load.
type Load = metrics.Load

// Load returns the current load.
func (s *Server) Load() Load {
	l := Load{Memory: s.held.Taken(), Packets: s.packets.Load(), Spilled: s.spilled.Taken(), Suspended: s.health.IsSuspended()}
	l.Waiting, l.Judging, l.Overtime = s.turns.State()
	l.SetBack, l.Signing = s.turns.Booked()
	l.Connections = s.door.Connections()
	return l
}

// Collectors returns the server's metrics, for a registry of the caller.
func (s *Server) Collectors() []prometheus.Collector {
	return append(s.metrics.Collectors(), metrics.Gauges(s.Load)...)
}
