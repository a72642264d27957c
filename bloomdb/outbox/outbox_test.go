package outbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunModels(m, 10)) }

func open(t testing.TB, dir string) *keyspace.Keyspace {
	t.Helper()
	return keyspacetest.Open(t, keyspacetest.Config(dir, "a", keyspacetest.NewClock().Now))
}

func report(t testing.TB, ks *keyspace.Keyspace, set signature.Set) {
	t.Helper()
	testenv.Check(t, keyspacetest.Report(ks, layout.SpamFilter, set))
}

func count(t testing.TB, ks *keyspace.Keyspace, n int) {
	t.Helper()
	h := ks.Ring.CountHash(keyspacetest.Message(n).Counting[0])
	testenv.Check(t, ks.Count([]filter.Hash{h}, 1, ks.Settings.Now()))
}

// next returns the next delta. The test fails if there is none.
func next(t testing.TB, ks *keyspace.Keyspace, all bool) wire.Delta {
	t.Helper()
	d, ok, err := ks.Outbox.NextDelta(all)
	if err != nil || !ok {
		t.Fatalf("delta %v, %v", ok, err)
	}
	return d
}

func resume(t testing.TB, ks *keyspace.Keyspace, epoch, seq uint64) {
	t.Helper()
	testenv.Check(t, ks.Outbox.Resume(epoch, seq))
}

// kinds returns the kinds of filter in a delta.
func kinds(t testing.TB, ks *keyspace.Keyspace, d wire.Delta) (list []layout.Kind) {
	t.Helper()
	body, err := ks.Sealer.DecodeDelta(d.Data)
	testenv.Check(t, err)
	for _, s := range body.Sections {
		list = append(list, s.Target.Kind)
	}
	return list
}

// Chunks contain the filters in the order of publication, because readers join chunk by chunk.
func TestSnapshotTakesBackFirst(t *testing.T) {
	ks := open(t, t.TempDir())
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SpamFilter} {
		testenv.Check(t, keyspacetest.Report(ks, kind, keyspacetest.Message(1)))
	}
	count(t, ks, 1)
	chunk, ok, err := ks.Outbox.NewSnapshot().Next()
	if !ok || err != nil {
		t.Fatalf("chunk %v, %v", ok, err)
	}
	_, body, err := ks.Sealer.OpenRecord(chunk, wire.RecordChunk)
	testenv.Check(t, err)
	var order []layout.Kind
	for r := (&wire.RecordReader{B: body[4:]}); len(r.B) > 0; r.Take(int(r.U32())) {
		s, err := wire.DecodeSectionHead(r)
		testenv.Check(t, err)
		order = append(order, s.Target.Kind)
	}
	if want := []layout.Kind{layout.RevokedFilter, layout.LadderFilter, layout.SpamFilter, layout.CountFilter}; !slices.Equal(order, want) {
		t.Errorf("sections %v, want %v", order, want)
	}
}

// If the identity cannot be written, no number is assigned and no change is lost.
func TestNumberIsNotAssigned(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	report(t, ks, keyspacetest.Message(1))
	dir := ks.Settings.Dir
	ks.Settings.Dir = filepath.Join(dir, "missing")
	for range 2 {
		if d, ok, err := ks.Outbox.NextDelta(true); err == nil {
			t.Fatalf("delta %d, %v without an identity", d.Seq, ok)
		}
	}
	ks.Settings.Dir = dir
	_, before := ks.Outbox.Head()
	d := next(t, ks, true)
	if d.Seq != before+1 {
		t.Errorf("number %d after %d", d.Seq, before)
	}
	if got := kinds(t, ks, d); len(got) != 1 || got[0] != layout.SpamFilter {
		t.Errorf("kinds %v, want the report", got)
	}
}

// Before Resume, the end of the stream is unknown: there is no delta.
func TestNoDeltaBeforeResume(t *testing.T) {
	ks := open(t, t.TempDir())
	report(t, ks, keyspacetest.Message(1))
	if _, ok, err := ks.Outbox.NextDelta(true); ok || err != nil {
		t.Errorf("delta %v, %v", ok, err)
	}
	if ks.Outbox.SnapshotDue() {
		t.Error("a snapshot is due")
	}
}

// Only the delta that was returned last can be confirmed. Until then it does not change.
func TestOtherDeltaIsNotConfirmed(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	report(t, ks, keyspacetest.Message(1))
	d := next(t, ks, true)
	for _, other := range []wire.Delta{{}, {Epoch: d.Epoch, Seq: d.Seq + 1}, {Epoch: d.Epoch + 1, Seq: d.Seq}} {
		if err := ks.Outbox.Published(other); err != nil {
			t.Error(err)
		}
		report(t, ks, keyspacetest.Message(2))
		if again := next(t, ks, true); again.Seq != d.Seq || string(again.Data) != string(d.Data) {
			t.Errorf("after the confirmation of %d-%d: delta %d, want %d unchanged", other.Epoch, other.Seq, again.Seq, d.Seq)
		}
	}
	testenv.Check(t, ks.Outbox.Published(d))
	if later := next(t, ks, true); later.Seq != d.Seq+1 {
		t.Errorf("number %d after %d", later.Seq, d.Seq)
	}
}

// Counts wait until they are requested, and every delta contains one kind of filter.
func TestOneKindInADelta(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	count(t, ks, 1)
	if d, ok, err := ks.Outbox.NextDelta(false); ok || err != nil {
		t.Fatalf("counts were published as urgent: %v, %v, %v", d.Seq, ok, err)
	}
	report(t, ks, keyspacetest.Message(1))
	testenv.Check(t, keyspacetest.Report(ks, layout.RevokedFilter, keyspacetest.Message(2)))
	published := make(map[layout.Kind]int)
	for _, all := range []bool{false, false, true} {
		d := next(t, ks, all)
		for i, kind := range kinds(t, ks, d) {
			if i > 0 {
				t.Errorf("delta %d has several kinds", d.Seq)
			}
			published[kind]++
		}
		testenv.Check(t, ks.Outbox.Published(d))
	}
	if len(published) != 3 || published[layout.CountFilter] != 1 {
		t.Errorf("published %v, want three kinds", published)
	}
	if _, ok, _ := ks.Outbox.NextDelta(true); ok {
		t.Error("a fourth delta")
	}
}

// Resume compares the stream with the folder.
func TestResume(t *testing.T) {
	for name, c := range map[string]struct {
		stream    func(epoch, seq uint64) (uint64, uint64) // end of the stream, from the last published delta
		due       bool                                     // a snapshot is due
		continues bool                                     // in the same epoch
		carries   bool                                     // a new epoch includes the counts of the stream's
	}{
		"unchanged":                {func(e, s uint64) (uint64, uint64) { return e, s }, false, true, false},
		"lost":                     {func(e, s uint64) (uint64, uint64) { return 0, 0 }, true, true, false},
		"cut short":                {func(e, s uint64) (uint64, uint64) { return e, s - 1 }, true, true, false},
		"of an earlier epoch":      {func(e, s uint64) (uint64, uint64) { return e - 1000, s }, true, true, false},
		"ahead of the folder":      {func(e, s uint64) (uint64, uint64) { return e, s + 5 }, true, false, true},
		"of a continued epoch":     {func(e, s uint64) (uint64, uint64) { return e + 1, 1 }, true, false, true},
		"of another folder, later": {func(e, s uint64) (uint64, uint64) { return e + 100_000, 1 }, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			ks := open(t, t.TempDir())
			resume(t, ks, 0, 0)
			for n := range 2 {
				report(t, ks, keyspacetest.Message(n))
				testenv.Check(t, ks.Outbox.Published(next(t, ks, true)))
			}
			epoch, seq := ks.Outbox.Head()
			endEpoch, endSeq := c.stream(epoch, seq)
			resume(t, ks, endEpoch, endSeq)
			if ks.Outbox.SnapshotDue() != c.due {
				t.Errorf("snapshot due: %v, want %v", !c.due, c.due)
			}
			now, head := ks.Outbox.Head()
			if (now == epoch) != c.continues || now < endEpoch || now == endEpoch && head < endSeq {
				t.Errorf("at %d-%d after %d-%d, with the stream at %d-%d", now, head, epoch, seq, endEpoch, endSeq)
			}
			if now != epoch && (now&1 == 1) != c.carries {
				t.Errorf("epoch %d after %d: continues it %v, want %v", now, endEpoch, !c.carries, c.carries)
			}
			if ks.Outbox.IsBeyond(endEpoch, endSeq) {
				t.Error("the stream is still ahead of the folder")
			}
		})
	}
}

// A snapshot that was begun before a number was skipped does not contain all changes: another one
// stays due.
func TestSnapshotOfBefore(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	report(t, ks, keyspacetest.Message(1))
	testenv.Check(t, ks.Outbox.Published(next(t, ks, true)))
	epoch, seq := ks.Outbox.Head()
	w := ks.Outbox.NewSnapshot()
	resume(t, ks, epoch, seq+7)
	if err := ks.Outbox.SnapshotPublished(w); err != nil || !ks.Outbox.SnapshotDue() {
		t.Errorf("due %v, %v", ks.Outbox.SnapshotDue(), err)
	}
	if err := ks.Outbox.SnapshotPublished(ks.Outbox.NewSnapshot()); err != nil || ks.Outbox.SnapshotDue() {
		t.Errorf("a later snapshot: due %v, %v", ks.Outbox.SnapshotDue(), err)
	}
}

// A snapshot that would become too large ends early, and its manifest records that.
func TestIncompleteSnapshot(t *testing.T) {
	for _, cut := range []bool{false, true} {
		ks := open(t, t.TempDir())
		report(t, ks, keyspacetest.Message(1))
		w := ks.Outbox.NewSnapshot()
		if cut {
			w.LeaveRest()
		}
		chunks := 0
		for {
			_, ok, err := w.Next()
			testenv.Check(t, err)
			if !ok {
				break
			}
			chunks++
		}
		m, err := ks.Sealer.ReadManifest(w.Manifest(3))
		testenv.Check(t, err)
		if m.Whole == cut || m.Chunks() != chunks || m.Bytes != w.Bytes() || m.Slot != 3 || cut != (chunks == 0) {
			t.Errorf("cut %v: %d chunks, manifest %+v", cut, chunks, m)
		}
	}
}

// A companion that the folder needs is recorded once, durably.
func TestAddCompanion(t *testing.T) {
	dir := t.TempDir()
	ks := open(t, dir)
	path := filepath.Join(dir, "reports.db")
	testenv.Check(t, os.WriteFile(path, []byte("x"), 0o600))
	for range 2 {
		testenv.Check(t, ks.Outbox.AddCompanion(path, func() uint64 { return 0 }, nil))
	}
	if got := ks.Outbox.ID.Companions; len(got) != 1 || got[0] != "reports.db" {
		t.Errorf("companions %v", got)
	}
	if err := ks.Outbox.AddCompanion(filepath.Join(dir, "missing", "reports.db"), func() uint64 { return 0 }, nil); err == nil {
		t.Error("a companion in a missing folder was recorded")
	}
}

// A heartbeat requests at most wire.MaxWants sites, the first ones.
func TestHeartbeatIsBounded(t *testing.T) {
	ks := open(t, t.TempDir())
	for place, want := range map[int]bool{0: true, wire.MaxWants - 1: true, wire.MaxWants: false} {
		wants := make([]string, wire.MaxWants+5)
		for i := range wants {
			wants[i] = fmt.Sprintf("site%d", i)
		}
		wants[place] = ks.Settings.Site
		h, err := ks.Sealer.ReadHeartbeat(ks.Outbox.Heartbeat(7, 8, wants...))
		if err != nil || h.WantsUs != want || h.Snapshot != 7 || h.Votes != 8 {
			t.Errorf("this site in place %d: %+v, %v; want it requested: %v", place, h, err, want)
		}
	}
}

// In a long outage, most pending positions are duplicates. Compact removes them and no other one.
func TestCompact(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	const times = 100_000/4 + 10 // Compact has work from 100,000 positions on
	for range times {
		count(t, ks, 1)
	}
	ks.Outbox.Compact()
	if n := ks.Outbox.Pending(); n != 4 {
		t.Errorf("%d positions are pending for one message, want 4", n)
	}
	c := keyspacetest.Config(t.TempDir(), "b", keyspacetest.NewClock().Now)
	b := keyspacetest.Open(t, c)
	keyspacetest.Apply(t, b, keyspacetest.Drain(t, ks)...)
	v := b.Store.Current()
	h := b.Ring.CountHash(keyspacetest.Message(1).Counting[0])
	if got := v.Counted(nil, 0, h, "b"); len(got) != 1 || got[0].Count != times {
		t.Errorf("counts %+v, want one of %d", got, times)
	}
}

// Without an exchange, changes are not collected. A snapshot is due when it is enabled.
func TestWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	c := keyspacetest.Config(dir, "a", keyspacetest.NewClock().Now)
	c.Settings.Exchange = false
	ks := keyspacetest.Open(t, c)
	report(t, ks, keyspacetest.Message(1))
	resume(t, ks, 0, 0)
	if _, ok, err := ks.Outbox.NextDelta(true); ok || err != nil || ks.Outbox.Pending() > 0 {
		t.Errorf("delta %v, %v, %d positions pending", ok, err, ks.Outbox.Pending())
	}
	testenv.Check(t, ks.Close())
	ks = open(t, dir) // the exchange is enabled later
	resume(t, ks, 0, 0)
	if !ks.Outbox.SnapshotDue() {
		t.Error("no snapshot is due, and other sites would never receive the report")
	}
}

// If the journal has too many segments, unpublished changes are given up, and a snapshot becomes due.
func TestManySegmentsAreGivenUp(t *testing.T) {
	ks := open(t, t.TempDir())
	resume(t, ks, 0, 0)
	for _, number := range []uint32{journal.ManySegments - 1, journal.ManySegments} {
		want := number == journal.ManySegments
		older := make(map[uint32]int64)
		for n := range number - 1 {
			older[n+1] = journal.Header
		}
		var err error
		ks.Outbox.Journal, err = journal.Open(t.TempDir(), ks.Ring.KeyID, older, 0, nil)
		testenv.Check(t, err)
		begin := ks.Outbox.Journal.Mark()
		keep, err := ks.Outbox.KeepFrom(begin)
		testenv.Check(t, err)
		if gone := keep == begin; gone != want || ks.Outbox.SnapshotDue() != want {
			t.Errorf("%d segments: given up %v, a snapshot is due %v, want %v", number, gone, ks.Outbox.SnapshotDue(), want)
		}
		testenv.Check(t, ks.Outbox.Journal.Close())
	}
}
