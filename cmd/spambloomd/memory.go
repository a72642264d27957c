package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter"
)

const (
	// imageMemory is for the images that signing decodes. Unit: bytes.
	imageMemory = 256 << 20
	// otherMemory is for what has no key of its own: the control and HTTP servers, the
	// exchange, the ledger. Unit: bytes.
	otherMemory = 192 << 20
	// memoryPeriod is how often the limit follows the database.
	memoryPeriod = time.Minute
)

// memoryLimit is the most that the daemon's Go heap should take: what mail may take by
// milter.max_memory and its kin, and what the database holds, of which only others' parts
// are in the heap. Garbage is collected more often near it. The runtime may go beyond for a
// moment, so that an eighth is left of the sum that contrib/policy.md states. Unit: bytes.
func memoryLimit(m *milter.Server, db *bloomdb.DB) int64 {
	sum := m.MostMemory() + imageMemory + otherMemory
	return sum - sum/8 + db.Status().Memory
}

// mostMemory is the most that a daemon of this configuration takes, whatever others do:
// for MemoryMax in a unit. Unit: bytes.
func (s *settings) mostMemory() (int64, error) {
	log := slog.New(slog.DiscardHandler)
	filters, err := s.databaseOptions([32]byte{}, log).MostMemory()
	return s.milterOptions(s.site, log).MostMemory() + imageMemory + otherMemory + filters, err
}

// mostTasks is the most threads that it takes: one for each connection, which may wait for
// the disk, and some beside. For TasksMax in a unit.
func (s *settings) mostTasks() int64 { return s.Milter.MaxConnections + 200 }

// limitMemory holds the limit up to date until ctx ends. GOMEMLIMIT takes its place.
func (d *service) limitMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		debug.SetMemoryLimit(memoryLimit(d.milter, d.db))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
