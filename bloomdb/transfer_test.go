package bloomdb_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site that joins late gets all data from the snapshot, and continues from its position.
func TestSnapshotForLateSite(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	bo := bloomdbtest.Options(t.TempDir(), "b")
	b := bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Count(t, a, 1, 50)
	testenv.Check(t, a.Revoke(bloomdbtest.Message(2)))
	lost := bloomdbtest.Drain(t, a)
	p := bloomdbtest.PublishSnapshot(t, a)
	bloomdbtest.Report(t, a, 3)
	after := bloomdbtest.Drain(t, a)
	if err := b.Apply(after[0].Data, peers.Next); !errors.Is(err, wire.ErrGap) {
		t.Errorf("a delta after %d lost ones: %v", len(lost), err)
	}
	p.Take(t, b)
	bloomdbtest.Apply(t, b, after...)
	check := func() {
		t.Helper()
		if e := b.Judge(bloomdbtest.Message(1)); !e.Listed || e.Count != 50 || !b.Judge(bloomdbtest.Message(3)).Listed {
			t.Errorf("after the snapshot: %+v", e)
		}
		if tr := b.Explain(bloomdbtest.Message(2))[0]; len(tr.Revoked) != 1 {
			t.Errorf("revocation: %+v", tr)
		}
		if _, seq := b.Cursor("a"); seq != after[len(after)-1].Seq || b.Wanting("a") {
			t.Errorf("cursor %d, wanting %v", seq, b.Wanting("a"))
		}
	}
	check()
	testenv.Check(t, b.Close())
	b = bloomdbtest.Open(t, bo)
	check()
	p.Take(t, b) // an older snapshot takes nothing back
	check()
}

// A site that gets only a part of the deltas lists nothing that their site has revoked.
func TestDeltasTakeBackFirst(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for _, n := range []int{1, 2, 2, 3} { // 2 is contested
		bloomdbtest.Report(t, a, n)
		if n < 3 {
			bloomdbtest.Revoke(t, a, n)
		}
	}
	deltas := bloomdbtest.Drain(t, a)
	for i, d := range deltas {
		bloomdbtest.Apply(t, b, d)
		for _, n := range []int{1, 2} {
			if b.Judge(bloomdbtest.Message(n)).Listed {
				t.Errorf("after %d of %d deltas, message %d is listed", i+1, len(deltas), n)
			}
		}
	}
	if !b.Judge(bloomdbtest.Message(3)).Listed {
		t.Error("message 3 is not listed")
	}
}

// Lost deltas stay wanted, also after a restart, until a snapshot from a later position is
// applied.
func TestSnapshotFillsGaps(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	bo := bloomdbtest.Options(t.TempDir(), "b")
	b := bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	early := bloomdbtest.PublishSnapshot(t, a)
	bloomdbtest.Report(t, a, 2)
	bloomdbtest.Drain(t, a) // lost
	bloomdbtest.Report(t, a, 3)
	testenv.Check(t, b.Apply(bloomdbtest.Drain(t, a)[0].Data, peers.Lost))
	testenv.Check(t, b.Close())
	b = bloomdbtest.Open(t, bo)
	if early.Take(t, b); !b.Wanting("a") || b.Status().Sites[1].Gaps != 1 {
		t.Errorf("wanting %v after a snapshot from before the gap, %d gaps", b.Wanting("a"), b.Status().Sites[1].Gaps)
	}
	if bloomdbtest.PublishSnapshot(t, a).Take(t, b); b.Wanting("a") || !b.Judge(bloomdbtest.Message(2)).Listed {
		t.Errorf("wanting %v after a snapshot", b.Wanting("a"))
	}
}

// After a restart, a gap is still filled only by a snapshot from after it. That snapshot may be
// from before the cursor.
func TestGapOverRestart(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	bo := bloomdbtest.Options(t.TempDir(), "b")
	b := bloomdbtest.Open(t, bo)
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Drain(t, a) // lost
	p := bloomdbtest.PublishSnapshot(t, a)
	for n := 2; n < 4; n++ {
		bloomdbtest.Report(t, a, n)
		testenv.Check(t, b.Apply(bloomdbtest.Drain(t, a)[0].Data, peers.Lost))
	}
	testenv.Check(t, b.Close())
	b = bloomdbtest.Open(t, bo)
	if p.Take(t, b); b.Wanting("a") || !b.Judge(bloomdbtest.Message(1)).Listed {
		t.Errorf("wanting %v", b.Wanting("a"))
	}
}

// A snapshot that would be too large omits the last filters and records that. It fills no gap.
func TestSnapshotLeavesRest(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Counts.Capacity = 200_000
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	const counted = 60_000 // each as often as no other, and with all their cells more than a chunk
	for n := range counted {
		bloomdbtest.Count(t, a, n, uint32(1<<19+8*n))
	}
	bloomdbtest.Drain(t, a)
	whole := bloomdbtest.PublishSnapshot(t, a)
	if len(whole.Chunks) < 2 {
		t.Fatalf("%d chunks of %d bytes, want several", len(whole.Chunks), len(whole.Chunks[0]))
	}
	w := a.NewSnapshot()
	chunk, _, _ := w.Next()
	w.LeaveRest()
	if _, ok, _ := w.Next(); ok {
		t.Error("a chunk after LeaveRest")
	}
	m, err := b.ReadManifest(w.Manifest(0))
	if err != nil || m.Whole || m.Chunks() != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	testenv.Check(t, errors.Join(b.ApplyChunk(m, 0, chunk), b.FinishSnapshot(m)))
	if !b.Judge(bloomdbtest.Message(1)).Listed || !b.Wanting("a") {
		t.Errorf("the reports were omitted, not the counts; wanting %v", b.Wanting("a"))
	}
	m, _ = b.ReadManifest(whole.Manifest)
	for i, c := range slices.Backward(whole.Chunks) { // in any order
		testenv.Check(t, b.ApplyChunk(m, i, c))
	}
	if err := b.FinishSnapshot(m); err != nil || b.Wanting("a") {
		t.Errorf("wanting after a whole snapshot, %v", err)
	}
	for n := 0; n < counted; n += counted / 40 {
		if got, want := b.Judge(bloomdbtest.Message(n)).Count, a.Judge(bloomdbtest.Message(n)).Count; got != want {
			t.Fatalf("message %d: count %d, at its site %d", n, got, want)
		}
	}
}

func TestRefusedChunks(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	old := bloomdbtest.PublishSnapshot(t, a)
	bloomdbtest.Report(t, a, 2)
	bloomdbtest.Drain(t, a)
	p := bloomdbtest.PublishSnapshot(t, a)
	m, err := b.ReadManifest(p.Manifest)
	testenv.Check(t, err)
	if err := b.ApplyChunk(m, 0, old.Chunks[0]); err == nil || !strings.Contains(err.Error(), "is not chunk 0") {
		t.Errorf("chunk of another snapshot: %v", err)
	}
	bloomdbtest.Report(t, a, 3) // not published: the position stays
	if w := a.NewSnapshot(); w.Seq() != m.Seq {
		t.Fatalf("position %d, want %d", w.Seq(), m.Seq)
	}
	if err := b.ApplyChunk(m, 0, bloomdbtest.PublishSnapshot(t, a).Chunks[0]); err == nil || !strings.Contains(err.Error(), "is not chunk 0") {
		t.Errorf("chunk of another snapshot of the same position: %v", err)
	}
	if err := b.ApplyChunk(m, 1, p.Chunks[0]); err == nil {
		t.Error("a chunk in the place of another")
	}
	if _, err := b.ReadManifest(p.Chunks[0]); err == nil || !strings.Contains(err.Error(), "expected a manifest record") {
		t.Errorf("a chunk as manifest: %v", err)
	}
	for cut := range p.Manifest {
		torn := bytes.Clone(p.Manifest)
		torn[cut] ^= 4
		if _, err := b.ReadManifest(torn); err == nil {
			t.Fatalf("byte %d flipped: no error", cut)
		}
		if _, err := b.ReadManifest(p.Manifest[:cut]); err == nil {
			t.Fatalf("cut at %d: no error", cut)
		}
	}
	if b.Judge(bloomdbtest.Message(1)).Listed || len(b.Status().Sites) != 1 {
		t.Error("a rejected chunk left a trace")
	}
}

// A snapshot is due until one is published that was begun after the last skipped number.
func TestSnapshotDue(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Drain(t, a)
	if a.SnapshotDue() {
		t.Error("due although the stream is complete")
	}
	if err := a.Resume(0, 0); err != nil || !a.SnapshotDue() {
		t.Errorf("the stream was lost: due %v, %v", a.SnapshotDue(), err)
	}
	w := a.NewSnapshot()
	skipNumber(a)
	if d := bloomdbtest.Drain(t, a); len(d) != 0 {
		t.Errorf("%d deltas contain skipped changes", len(d))
	}
	for _, ok, _ := w.Next(); ok; _, ok, _ = w.Next() {
	}
	if err := a.SnapshotPublished(w); err != nil || !a.SnapshotDue() {
		t.Errorf("one that began before: due %v, %v", a.SnapshotDue(), err)
	}
	bloomdbtest.PublishSnapshot(t, a)
	if a.SnapshotDue() {
		t.Error("due after it was published")
	}
	if err := a.Resume(0, 0); err != nil || a.SnapshotDue() {
		t.Errorf("due again although nothing more was lost: %v", err)
	}
}

// Reports with other parameters are rejected. The counts in the same chunk are applied.
func TestChunkCountsPassWhereReportsAreRefused(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Reports.Capacity = 90_000
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Count(t, a, 1, 30)
	p := bloomdbtest.PublishSnapshot(t, a)
	m, err := b.ReadManifest(p.Manifest)
	if err != nil || m.Chunks() != 1 {
		t.Fatal(m.Chunks(), err)
	}
	err = b.ApplyChunk(m, 0, p.Chunks[0])
	if e := b.Judge(bloomdbtest.Message(1)); !errors.Is(err, layout.ErrParameters) || e.Listed || e.Count != 30 {
		t.Errorf("%v, %+v", err, e)
	}
}
