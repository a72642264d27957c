package bloomdb

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// published is a snapshot as others find it.
type published struct {
	manifest []byte
	chunks   [][]byte
}

// publishSnapshot makes a site's snapshot and tells the site that it stands.
func publishSnapshot(t testing.TB, db *DB) published {
	t.Helper()
	var p published
	w := db.NewSnapshot()
	for {
		chunk, ok, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if len(chunk) > wire.MaxDelta {
			t.Fatalf("chunk of %d bytes", len(chunk))
		}
		p.chunks = append(p.chunks, chunk)
	}
	p.manifest = w.Manifest(1)
	if err := db.SnapshotPublished(w); err != nil {
		t.Fatal(err)
	}
	return p
}

// take joins a snapshot, as the exchange would.
func (p published) take(t testing.TB, db *DB) {
	t.Helper()
	m, err := db.ReadManifest(p.manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i, chunk := range p.chunks {
		if err := db.ApplyChunk(m, i, chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.FinishSnapshot(m); err != nil {
		t.Fatal(err)
	}
}

// A site that comes late gets all from the snapshot, and goes on from its position.
func TestSnapshotForLateSite(t *testing.T) {
	a := openTest(t, testOptions(t.TempDir(), "a"))
	bo := testOptions(t.TempDir(), "b")
	b := openTest(t, bo)
	mustReport(t, a, 1)
	mustCount(t, a, 1, 50)
	if err := a.Revoke(message(2)); err != nil {
		t.Fatal(err)
	}
	lost := drain(t, a)
	p := publishSnapshot(t, a)
	mustReport(t, a, 3)
	after := drain(t, a)
	if err := b.Apply(after[0].Data, peers.Next); !errors.Is(err, wire.ErrGap) {
		t.Errorf("a delta after %d lost ones: %v", len(lost), err)
	}
	p.take(t, b)
	mustApply(t, b, after...)
	check := func() {
		t.Helper()
		if e := b.Judge(message(1)); !e.Listed || e.Count != 50 || !b.Judge(message(3)).Listed {
			t.Errorf("after the snapshot: %+v", e)
		}
		if tr := b.Explain(message(2))[0]; len(tr.Revoked) != 1 {
			t.Errorf("revocation: %+v", tr)
		}
		if _, seq := b.Cursor("a"); seq != after[len(after)-1].Seq || b.Wanting("a") {
			t.Errorf("cursor %d, wanting %v", seq, b.Wanting("a"))
		}
	}
	check()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, bo)
	check()
	p.take(t, b) // an older snapshot takes nothing back
	check()
}

// What was lost is wanted, over a restart too, until a snapshot reaches beyond it.
func TestSnapshotFillsGaps(t *testing.T) {
	a := openTest(t, testOptions(t.TempDir(), "a"))
	bo := testOptions(t.TempDir(), "b")
	b := openTest(t, bo)
	mustReport(t, a, 1)
	mustApply(t, b, drain(t, a)...)
	early := publishSnapshot(t, a)
	mustReport(t, a, 2)
	drain(t, a) // lost
	mustReport(t, a, 3)
	if err := b.Apply(drain(t, a)[0].Data, peers.Lost); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, bo)
	if early.take(t, b); !b.Wanting("a") || b.Status().Sites[1].Gaps != 1 {
		t.Errorf("wanting %v after a snapshot from before the gap, %d gaps", b.Wanting("a"), b.Status().Sites[1].Gaps)
	}
	if publishSnapshot(t, a).take(t, b); b.Wanting("a") || !b.Judge(message(2)).Listed {
		t.Errorf("wanting %v after a snapshot", b.Wanting("a"))
	}
}

// Over a restart it is known which snapshot fills a gap: one from before the cursor may.
func TestGapOverRestart(t *testing.T) {
	a := openTest(t, testOptions(t.TempDir(), "a"))
	bo := testOptions(t.TempDir(), "b")
	b := openTest(t, bo)
	mustReport(t, a, 1)
	drain(t, a) // lost
	p := publishSnapshot(t, a)
	for n := 2; n < 4; n++ {
		mustReport(t, a, n)
		if err := b.Apply(drain(t, a)[0].Data, peers.Lost); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, bo)
	if p.take(t, b); b.Wanting("a") || !b.Judge(message(1)).Listed {
		t.Errorf("wanting %v", b.Wanting("a"))
	}
}

// A snapshot that would be too large leaves out what comes last, and says so: it
// fills no gap.
func TestSnapshotLeavesRest(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	o.Counts.Capacity = 200_000
	a, b := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	const counted = 60_000 // each as often as no other, and with all their cells more than a chunk
	for n := range counted {
		mustCount(t, a, n, uint32(1<<19+8*n))
	}
	drain(t, a)
	whole := publishSnapshot(t, a)
	if len(whole.chunks) < 2 {
		t.Fatalf("%d chunks of %d bytes, want several", len(whole.chunks), len(whole.chunks[0]))
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
	if err := errors.Join(b.ApplyChunk(m, 0, chunk), b.FinishSnapshot(m)); err != nil {
		t.Fatal(err)
	}
	if !b.Judge(message(1)).Listed || !b.Wanting("a") {
		t.Errorf("the reports were left out, not the counts; wanting %v", b.Wanting("a"))
	}
	m, _ = b.ReadManifest(whole.manifest)
	for i, c := range slices.Backward(whole.chunks) { // what comes in which order does not matter
		if err := b.ApplyChunk(m, i, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.FinishSnapshot(m); err != nil || b.Wanting("a") {
		t.Errorf("wanting after a whole snapshot, %v", err)
	}
	for n := 0; n < counted; n += counted / 40 {
		if got, want := b.Judge(message(n)).Count, a.Judge(message(n)).Count; got != want {
			t.Fatalf("message %d: count %d, at its site %d", n, got, want)
		}
	}
}

func TestRefusedChunks(t *testing.T) {
	a, b := openTest(t, testOptions(t.TempDir(), "a")), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	old := publishSnapshot(t, a)
	mustReport(t, a, 2)
	drain(t, a)
	p := publishSnapshot(t, a)
	m, err := b.ReadManifest(p.manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.ApplyChunk(m, 0, old.chunks[0]); err == nil || !strings.Contains(err.Error(), "is not chunk 0") {
		t.Errorf("chunk of another snapshot: %v", err)
	}
	mustReport(t, a, 3) // not published: the position stays
	if w := a.NewSnapshot(); w.Seq() != m.Seq {
		t.Fatalf("position %d, want %d", w.Seq(), m.Seq)
	}
	if err := b.ApplyChunk(m, 0, publishSnapshot(t, a).chunks[0]); err == nil || !strings.Contains(err.Error(), "is not chunk 0") {
		t.Errorf("chunk of another snapshot of the same position: %v", err)
	}
	if err := b.ApplyChunk(m, 1, p.chunks[0]); err == nil {
		t.Error("a chunk in the place of another")
	}
	if _, err := b.ReadManifest(p.chunks[0]); err == nil || !strings.Contains(err.Error(), "expected a manifest record") {
		t.Errorf("a chunk as manifest: %v", err)
	}
	for cut := range p.manifest {
		torn := bytes.Clone(p.manifest)
		torn[cut] ^= 4
		if _, err := b.ReadManifest(torn); err == nil {
			t.Fatalf("byte %d flipped: no error", cut)
		}
		if _, err := b.ReadManifest(p.manifest[:cut]); err == nil {
			t.Fatalf("cut at %d: no error", cut)
		}
	}
	if b.Judge(message(1)).Listed || len(b.Status().Sites) != 1 {
		t.Error("something refused left a trace")
	}
}

// A snapshot is due until one stands that began after the last number was left out.
func TestSnapshotDue(t *testing.T) {
	a := openTest(t, testOptions(t.TempDir(), "a"))
	mustReport(t, a, 1)
	drain(t, a)
	if a.SnapshotDue() {
		t.Error("due although the stream has everything")
	}
	if err := a.Resume(0, 0); err != nil || !a.SnapshotDue() {
		t.Errorf("the stream was lost: due %v, %v", a.SnapshotDue(), err)
	}
	w := a.NewSnapshot()
	a.ks.Outbox.Note(layout.Target{Kind: layout.CountFilter, Gen: 0}, make([]uint64, tooMany)) // so that a number is left out
	if d := drain(t, a); len(d) != 0 {
		t.Errorf("%d deltas of what was left out", len(d))
	}
	for _, ok, _ := w.Next(); ok; _, ok, _ = w.Next() {
	}
	if err := a.SnapshotPublished(w); err != nil || !a.SnapshotDue() {
		t.Errorf("one that began before: due %v, %v", a.SnapshotDue(), err)
	}
	publishSnapshot(t, a)
	if a.SnapshotDue() {
		t.Error("due after it was published")
	}
	if err := a.Resume(0, 0); err != nil || a.SnapshotDue() {
		t.Errorf("due again, though nothing more was lost: %v", err)
	}
}

// Reports of other parameters are refused; the counts in the same chunk are not lost.
func TestChunkCountsPassWhereReportsAreRefused(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	o.Reports.Capacity = 90_000
	a, b := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	mustCount(t, a, 1, 30)
	p := publishSnapshot(t, a)
	m, err := b.ReadManifest(p.manifest)
	if err != nil || m.Chunks() != 1 {
		t.Fatal(m.Chunks(), err)
	}
	err = b.ApplyChunk(m, 0, p.chunks[0])
	if e := b.Judge(message(1)); !errors.Is(err, layout.ErrParameters) || e.Listed || e.Count != 30 {
		t.Errorf("%v, %+v", err, e)
	}
}
