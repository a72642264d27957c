// Package keyspacetest is for tests of keyspaces and of the packages below them. It opens
// keyspaces in temporary folders, fills them, transfers deltas from one to another, and sets
// their clock. Tests of whole databases use package bloomdbtest. A function without an error
// result fails the test instead.
package keyspacetest

import (
	"encoding/binary"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

// Clock is a clock that the test sets. Its methods are safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that is stopped at 5:06:07 UTC on 4 March 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add sets the clock ahead, or back if d is negative.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Key is the federation key of Config.
var Key = [32]byte{1, 2, 3}

// Config configures a small keyspace that exchanges records.
func Config(dir, site string, now func() time.Time) keyspace.Config {
	log := slog.New(slog.DiscardHandler)
	return keyspace.Config{
		Settings: &layout.Settings{
			Dir: dir, Site: site, Exchange: true, Votes: 2, Log: log, Now: now,
			Reports: layout.ReportOptions{Period: 168 * time.Hour, Keep: 5, Capacity: 2000, KeysPerMessage: 8, MaxErrorPerMail: 1e-6},
			Counts:  layout.CountOptions{Period: 24 * time.Hour, Keep: 2, Capacity: 2000},
			Domains: layout.DomainOptions{Campaigns: 3},
		},
		Key: Key, Keeper: clock.New(now, nil, log),
	}
}

// Open opens a keyspace, which is checked and closed when the test ends.
func Open(t testing.TB, c keyspace.Config) *keyspace.Keyspace {
	t.Helper()
	ks := keyspace.New(c)
	if err := ks.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if ks.Closed.Load() {
			return
		}
		if err := ks.Check(); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := ks.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return ks
}

// Message returns the signatures of message number n: of its body and its text. The signature
// of the text is counted.
func Message(n int) signature.Set {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	body := signature.Signature{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, b[:])}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, b[:])}
	return signature.Set{Signatures: []signature.Signature{body, text}, Counting: []signature.Signature{text}}
}

// Report reports a message, or revokes it, by the kind of filter: layout.SpamFilter or
// layout.RevokedFilter. A report of a message with link domains is a campaign.
func Report(ks *keyspace.Keyspace, kind layout.Kind, set signature.Set) error {
	u, err := ks.PrepareReport(kind, set, layout.ClassOther, len(set.Domains) > 0, layout.ReporterRungs)
	if u.Release != nil {
		defer u.Release()
	}
	if err != nil {
		return err
	}
	if err := u.Ready(); err != nil {
		return err
	}
	if err := u.Write(); err != nil {
		return err
	}
	return u.Show()
}

// Drain returns all pending changes as deltas, and confirms that they are published.
func Drain(t testing.TB, ks *keyspace.Keyspace) (all []wire.Delta) {
	t.Helper()
	if err := ks.Outbox.Resume(ks.Outbox.Tail()); err != nil {
		t.Fatal(err)
	}
	for {
		d, ok, err := ks.Outbox.NextDelta(true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		if err := ks.Outbox.Published(d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
}

// Apply applies deltas of another site, without gaps.
func Apply(t testing.TB, ks *keyspace.Keyspace, deltas ...wire.Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := ks.Peers.Apply(d.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
	}
}
