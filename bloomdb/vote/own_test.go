package vote_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

// open opens the keyspace of a site that receives the votes of site b.
func open(t testing.TB, site string, clock *keyspacetest.Clock) *keyspace.Keyspace {
	t.Helper()
	c := keyspacetest.Config(t.TempDir(), site, clock.Now)
	c.Members = wire.Members{"b": {Trust: wire.TrustVote}, "full": {}}
	return keyspacetest.Open(t, c)
}

func report(t testing.TB, ks *keyspace.Keyspace, kind layout.Kind, n int) {
	t.Helper()
	testenv.Check(t, keyspacetest.Report(ks, kind, keyspacetest.Message(n)))
}

// record returns a site's record of votes.
func record(t testing.TB, ks *keyspace.Keyspace) []byte {
	t.Helper()
	data, _, err := ks.Votes.Encode(ks.Outbox.RecordHead(wire.RecordVotes))
	testenv.Check(t, err)
	return data
}

// votes returns the number of sites whose votes contain the text of a message.
func votes(ks *keyspace.Keyspace, n int) int {
	v := ks.Store.Current()
	return len(ks.Votes.Trails(&v, ks.Ring.ReportHash(keyspacetest.Message(n).Counting[0])))
}

// A rejected record leaves the site's previous votes as they were, in memory and on disk.
func TestRejectedVotes(t *testing.T) {
	clock := keyspacetest.NewClock()
	here, b, full := open(t, "a", clock), open(t, "b", clock), open(t, "full", clock)
	report(t, b, layout.SpamFilter, 1)
	testenv.Check(t, here.Votes.Accept(record(t, b)))
	path := store.VotesPath(here.Settings.Dir, "b")
	before, err := os.ReadFile(path)
	testenv.Check(t, err)
	changed, stale := record(t, b), b.Outbox.RecordHead(wire.RecordVotes)
	changed[len(changed)-1] ^= 1
	stale.Epoch -= 2
	staleRecord, _, err := b.Votes.Encode(stale)
	testenv.Check(t, err)
	for name, c := range map[string]struct {
		data []byte
		want error // nil: any
	}{
		"nothing":              {nil, nil},
		"changed":              {changed, nil},
		"of a trusted site":    {record(t, full), nil},
		"of a stale epoch":     {staleRecord, wire.ErrReplayed},
		"a heartbeat":          {b.Outbox.Heartbeat(1, 1), nil},
		"longer than a record": {make([]byte, wire.MaxDelta+1), nil},
	} {
		if err := here.Votes.Accept(c.data); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	testenv.Check(t, here.Peers.SetMuted("b", true))
	if err := here.Votes.Accept(record(t, b)); !errors.Is(err, wire.ErrMuted) {
		t.Errorf("muted: %v", err)
	}
	testenv.Check(t, here.Peers.SetMuted("b", false))
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) || votes(here, 1) != 1 {
		t.Errorf("the file changed: %v, %v; %d votes", !bytes.Equal(after, before), err, votes(here, 1))
	}
}

// If the file cannot be written, the votes count all the same.
func TestVotesWithoutDisk(t *testing.T) {
	clock := keyspacetest.NewClock()
	here, b := open(t, "a", clock), open(t, "b", clock)
	report(t, b, layout.SpamFilter, 1)
	dir := here.Settings.Dir
	here.Settings.Dir = filepath.Join(dir, "missing")
	err := here.Votes.Accept(record(t, b))
	here.Settings.Dir = dir
	if err == nil || votes(here, 1) != 1 {
		t.Errorf("%v, %d votes", err, votes(here, 1))
	}
}

// An own record and an older one are ignored without an error.
func TestIgnoredVotes(t *testing.T) {
	clock := keyspacetest.NewClock()
	here, b := open(t, "a", clock), open(t, "b", clock)
	older := record(t, b)
	clock.Add(time.Second)
	report(t, b, layout.SpamFilter, 1)
	for name, data := range map[string][]byte{"own": record(t, here), "older": older} {
		if err := errors.Join(here.Votes.Accept(record(t, b)), here.Votes.Accept(data)); err != nil || votes(here, 1) != 1 {
			t.Errorf("%s: %v, %d votes", name, err, votes(here, 1))
		}
	}
}

// Votes use the text and the body of a message, in this order, and no other signature.
func TestKeys(t *testing.T) {
	of := func(kinds ...signature.Kind) (list []signature.Signature) {
		for _, k := range kinds {
			list = append(list, signature.Signature{Kind: k})
		}
		return list
	}
	for name, c := range map[string]struct {
		signatures []signature.Signature
		want       []int
	}{
		"none":             {nil, nil},
		"a part only":      {of(signature.KindImage, signature.KindDomain), nil},
		"a body only":      {of(signature.KindImage, signature.KindBody), []int{1}},
		"text before body": {of(signature.KindBody, signature.KindText), []int{1, 0}},
		"the first of two": {of(signature.KindText, signature.KindText), []int{0}},
	} {
		if got := vote.Keys(c.signatures); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A report changes the votes, also if the message was revoked in that generation.
func TestRecord(t *testing.T) {
	ks := open(t, "a", keyspacetest.NewClock())
	gen := ks.Settings.Generation(layout.SpamFilter, ks.Settings.Now())
	signatures := keyspacetest.Message(1).Signatures
	if got := ks.Votes.Record(layout.SpamFilter, nil, gen, layout.ReporterRungs); got != nil {
		t.Errorf("no signatures: %v", got)
	}
	if got := ks.Votes.Record(layout.SpamFilter, signatures, gen, layout.ReporterRungs); len(got) != 1 || len(got[0].Votes) != 2 {
		t.Errorf("a report: %v", got)
	}
	report(t, ks, layout.RevokedFilter, 1)
	if got := ks.Votes.Record(layout.SpamFilter, signatures, gen, layout.ReporterRungs); len(got) != 1 {
		t.Errorf("a report of a revoked message: %v", got)
	}
	if got := ks.Votes.Record(layout.SpamFilter, signatures, gen+1, layout.ReporterRungs); len(got) != 1 {
		t.Errorf("in the next generation: %v", got)
	}
	if got := ks.Votes.Record(layout.RevokedFilter, signatures, gen, layout.ReporterRungs); len(got) != 1 {
		t.Errorf("a revocation: %v", got)
	}
}

// body returns the encoded filter that begins with a generation.
func body(t *rapid.T, ks *keyspace.Keyspace, gen int64) []byte {
	b, _, err := ks.Votes.Own.Body(gen, ks.Settings.Reports.Period)
	testenv.Check(t, err)
	return b
}

// A snapshot may contain changes that the journal replays: the filters are the same as if no crash
// had happened. The record that was applied last decides.
func TestReplayedVotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := keyspacetest.NewClock()
		whole, crashed := unloaded(t, clock), unloaded(t, clock)
		now := whole.Settings.Generation(layout.SpamFilter, clock.Now())
		var records []journal.Record
		for range rapid.IntRange(1, 12).Draw(rt, "records") {
			r := journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: now + int64(rapid.IntRange(0, 2).Draw(rt, "generation"))}}
			if rapid.Bool().Draw(rt, "revoke") {
				r.Target.Kind = layout.RevokedFilter
			}
			for range rapid.IntRange(1, 3).Draw(rt, "keys") {
				r.Votes = append(r.Votes, rapid.Uint64Range(1, 5).Draw(rt, "seed"))
			}
			records = append(records, r)
		}
		if err := whole.Votes.Apply(records); err != nil {
			rt.Fatal(err)
		}
		saved := rapid.IntRange(0, len(records)).Draw(rt, "records in the snapshot")
		replayed := rapid.IntRange(0, saved).Draw(rt, "records before the replay")
		before := unloaded(t, clock)
		if err := before.Votes.Apply(records[:saved]); err != nil {
			rt.Fatal(err)
		}
		for _, s := range before.Votes.Snapshots() {
			path := filepath.Join(crashed.Settings.Dir, filepath.Base(s.Path))
			if err := folder.WriteSnapshot(path, s.Write); err != nil {
				rt.Fatal(err)
			}
			gen, ok := vote.ParseOwnVotesPath(filepath.Base(path))
			if !ok {
				rt.Fatalf("file %s", path)
			}
			if err := crashed.Votes.LoadOwn(path, gen); err != nil {
				rt.Fatal(err)
			}
		}
		if err := crashed.Votes.Apply(records[replayed:]); err != nil {
			rt.Fatal(err)
		}
		for gen := now - 1; gen <= now+2; gen++ {
			got, want := decoded(rt, body(rt, crashed, gen)), decoded(rt, body(rt, whole, gen))
			if !slices.Equal(got.Filter.Cells(nil), want.Filter.Cells(nil)) {
				rt.Errorf("the filter of generation %d differs after a replay from %d, with a snapshot of %d of %d", gen, replayed, saved, len(records))
			}
		}
	})
}

// unloaded returns an empty keyspace that is not opened.
func unloaded(t *testing.T, clock *keyspacetest.Clock) *keyspace.Keyspace {
	return keyspace.New(keyspacetest.Config(t.TempDir(), "a", clock.Now))
}

func decoded(t *rapid.T, data []byte) wire.VotesBody {
	v, err := wire.DecodeVotes(data)
	testenv.Check(t, err)
	return v
}

// The stamp changes with every report, and when the next filter is published.
func TestStamp(t *testing.T) {
	clock := keyspacetest.NewClock()
	ks := open(t, "a", clock)
	last := ks.Votes.Stamp()
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"a report", func() { report(t, ks, layout.SpamFilter, 1) }},
		{"the same report again", func() { report(t, ks, layout.SpamFilter, 1) }},
		{"a revocation", func() { report(t, ks, layout.RevokedFilter, 1) }},
		{"the next period", func() { clock.Add(168 * time.Hour) }},
	} {
		c.change()
		now := ks.Votes.Stamp()
		if now <= last {
			t.Errorf("%s: stamp %d after %d", c.name, now, last)
		}
		last = now
		data, stamp, err := ks.Votes.Encode(ks.Outbox.RecordHead(wire.RecordVotes))
		if err != nil || stamp != now || len(data) > 513<<10 {
			t.Errorf("%s: a record of %d bytes with stamp %d, %v; want stamp %d", c.name, len(data), stamp, err, now)
		}
	}
}

// Own filters are dropped when they were expired at layout.KeepExpired calls in a row.
func TestOwnExpire(t *testing.T) {
	ks := open(t, "a", keyspacetest.NewClock())
	report(t, ks, layout.SpamFilter, 1)
	gen := ks.Settings.VotesGeneration()
	filters := func() int { return len(ks.Votes.Snapshots()) }
	for range layout.KeepExpired - 1 {
		ks.Votes.Own.Expire(gen + 2)
	}
	ks.Votes.Own.Expire(gen) // the clock was set back: the calls are no longer in a row
	for range layout.KeepExpired - 1 {
		ks.Votes.Own.Expire(gen + 2)
	}
	if filters() != 2 {
		t.Errorf("%d filters, want 2", filters())
	}
	ks.Votes.Own.Expire(gen + 1)
	if filters() != 1 {
		t.Errorf("%d filters, want that of the current generation only", filters())
	}
	if ks.Votes.Own.Expire(gen + 2); filters() != 1 {
		t.Error("dropped at the first call")
	}
}
