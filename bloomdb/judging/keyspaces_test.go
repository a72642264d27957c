package judging

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) {
	if err := testenv.Models(10); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.InMemory()
	os.Exit(m.Run())
}

// wallClock is a time that the test sets.
type wallClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *wallClock { return &wallClock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *wallClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// load opens the keyspace of a site in a folder.
func load(dir, site string, now func() time.Time) (*keyspace.Keyspace, error) {
	log := slog.New(slog.DiscardHandler)
	ks := keyspace.New(keyspace.Config{
		Settings: &layout.Settings{
			Dir: dir, Site: site, Exchange: true, Votes: testPolicy.Votes, Log: log, Now: now,
			Reports: layout.ReportOptions{Period: 168 * time.Hour, Keep: 5, Capacity: 2000, KeysPerMessage: 8, MaxErrorPerMail: 1e-6},
			Counts:  layout.CountOptions{Period: 24 * time.Hour, Keep: 2, Capacity: 2000},
			Domains: layout.DomainOptions{Campaigns: testPolicy.Campaigns},
		},
		Key: [32]byte{1, 2, 3}, Keeper: clock.New(now, nil, log),
	})
	return ks, ks.Load()
}

// openKeyspace opens an empty keyspace that is checked when the test ends.
func openKeyspace(t *testing.T, site string) *keyspace.Keyspace {
	t.Helper()
	ks, err := load(t.TempDir(), site, newClock().Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ks.Check(); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := ks.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return ks
}

// message is a set of signatures for message number n.
func message(n int) signature.Set {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	body := signature.Signature{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, b[:])}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, b[:])}
	return signature.Set{Signatures: []signature.Signature{body, text}, Counting: []signature.Signature{text}}
}

// drain publishes all that waits to be published.
func drain(t *testing.T, ks *keyspace.Keyspace) (all []wire.Delta) {
	t.Helper()
	if err := ks.Outbox.Resume(ks.Outbox.Head()); err != nil { // where it is, the stream goes on
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

// mustApply joins deltas of another site.
func mustApply(t *testing.T, ks *keyspace.Keyspace, deltas ...wire.Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := ks.Peers.Apply(d.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
	}
}

// askGroups asks about a message with the groups that the test has made, in place of
// those of its sketches.
func askGroups(ks *keyspace.Keyspace, set signature.Set, groups []sketch.KindGroups) []question {
	asked := ask(nil, []*keyspace.Keyspace{ks}, set)
	asked[0].groups = groups
	return asked
}

// judgeGroups judges a message that has nothing but groups that the test has made.
func judgeGroups(ks *keyspace.Keyspace, groups []sketch.KindGroups) Evidence {
	return judge(askGroups(ks, signature.Set{}, groups), testPolicy)
}

// listGroups reports or revokes a message with groups that the test has made.
func listGroups(ks *keyspace.Keyspace, kind layout.Kind, set signature.Set, groups []sketch.KindGroups) error {
	records, err := ks.Sketches.Records(kind, groups, ks.Settings.Generation(kind, ks.Settings.Now()))
	if err != nil {
		return err
	}
	at, err := ks.Journal.Append(records...)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := ks.Store.Set(r, ks.Outbox.Note); err != nil {
			return err
		}
	}
	ks.Journal.Done(at)
	set.Sketches = nil
	return list(ks, kind, set)
}

// list reports or revokes a message.
func list(ks *keyspace.Keyspace, kind layout.Kind, set signature.Set) error {
	u, err := ks.PrepareReport(kind, set, layout.ClassOther, len(set.Domains) > 0)
	if u.Release != nil {
		defer u.Release()
	}
	if err != nil {
		return err
	}
	if err := u.Write(); err != nil {
		return err
	}
	return u.Show()
}
