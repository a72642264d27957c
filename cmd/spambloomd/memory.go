package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/milter"
)

const (
	// ballast is part of the heap and is never written, so that hardly any of it is
	// resident. Garbage is collected when the heap has doubled. Without ballast that is
	// every few megabytes, many times a second under load. Unit: bytes.
	ballast = 32 << 20
	// memoryPeriod is the time between two adaptations of the limit to the database.
	memoryPeriod = time.Minute
)

// memoryLimit returns the limit for the daemon's Go heap: the memory for mail (milter.max_memory and related
// keys, and that of doors, traps and the page beside the milter), the database's memory in the heap, which is
// only that of other sites' parts, and the ballast. Garbage is collected more often near the limit. The runtime
// may exceed it briefly, so an eighth of the sum stated in contrib/policy.md is kept in reserve. Unit: bytes.
func memoryLimit(m *milter.Server, doors int64, db *bloomdb.DB) int64 {
	sum := m.MostMemory() + doors + settings.ImageMemory + settings.OtherMemory
	return sum - sum/8 + db.Status().Memory + ballast
}

// limitMemory keeps the limit up to date until ctx ends. GOMEMLIMIT overrides it.
func (d *service) limitMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	heap := make([]byte, ballast)
	defer runtime.KeepAlive(heap)
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		debug.SetMemoryLimit(memoryLimit(d.milter, d.doorMemory.Load(), d.db))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
