package publisher

import (
	"log/slog"
	"time"
)

// Options set intervals and limits. A zero value means the default.
type Options struct {
	// Interval is how often counts are published at rest, MaxInterval how often in a flood.
	// In between, the wait grows with the amount of data. Defaults 1 s and 60 s. Reports
	// and revocations do not wait for it.
	Interval    time.Duration
	MaxInterval time.Duration

	// Heartbeat is how often the head of the own stream is announced; default 2 s. A link
	// without any message for three times as long is considered dead.
	Heartbeat time.Duration

	// SnapshotLimit is how many bytes a snapshot may take in Redis, and twice as many while
	// it is written; default 512 MiB. Data beyond the limit is omitted, counts first.
	SnapshotLimit int64

	// StreamLength is about how many deltas Redis keeps of this site at most; default
	// 100,000. Usually there are fewer, because the deltas contained in the last two
	// snapshots are trimmed.
	StreamLength int64

	// SnapshotInterval is how often a snapshot is published even if few deltas were
	// published since the last one; default 24 h.
	SnapshotInterval time.Duration

	Log *slog.Logger // nil: discard
}

// WithDefaults returns the options with the defaults in place of zero values.
func (o Options) WithDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.MaxInterval <= 0 {
		o.MaxInterval = time.Minute
	}
	o.MaxInterval = max(o.MaxInterval, o.Interval)
	if o.SnapshotLimit <= 0 {
		o.SnapshotLimit = 512 << 20
	}
	if o.SnapshotInterval <= 0 {
		o.SnapshotInterval = 24 * time.Hour
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 2 * time.Second
	}
	if o.StreamLength <= 0 {
		o.StreamLength = 100_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
