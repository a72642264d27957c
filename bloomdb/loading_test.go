package bloomdb_test

import (
	"encoding/binary"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// While a snapshot is loaded, no near-duplicate of a revoked message matches, and what was known of
// its site before still does. One filter contains the reported groups and the revoked ones, so that
// a part of it lists what its site has revoked.
func TestLoadingShowsNoPartOfSketches(t *testing.T) {
	const known, fresh, revoked, several = 0, 1, 2, 40 // numbers of messages, and how many are revoked
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	mustReportSet(t, a, text(known))
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	mustReportSet(t, a, text(fresh))
	for n := revoked; n < revoked+several; n++ {
		mustReportSet(t, a, text(n))
		testenv.Check(t, a.Revoke(text(n)))
	}
	bloomdbtest.Drain(t, a) // lost
	check := func(db *bloomdb.DB, when string, wantFresh bool) {
		t.Helper()
		wrong := 0
		for n := revoked; n < revoked+several; n++ {
			if db.Judge(near(n)).Listed {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d near-duplicates of revoked messages are listed", when, wrong, several)
		}
		if !db.Judge(near(known)).Listed || wantFresh && !db.Judge(near(fresh)).Listed {
			t.Errorf("%s: a near-duplicate of a reported message is not listed", when)
		}
		testenv.Check(t, db.Check())
	}
	check(a, "at their site", true)
	m, pieces := inPieces(t, a, bloomdbtest.PublishSnapshot(t, a))
	judged := make(chan int) // how many were listed at any moment
	loaded := make(chan struct{})
	go func() {
		wrong := 0
		for n := 0; ; n++ {
			select {
			case <-loaded:
				judged <- wrong
				return
			default:
			}
			if b.Judge(near(revoked + n%several)).Listed {
				wrong++
			}
		}
	}()
	for i, chunk := range pieces {
		testenv.Check(t, b.ApplyChunk(m, i, chunk))
		check(b, "while the snapshot is loaded", false)
	}
	testenv.Check(t, b.FinishSnapshot(m))
	close(loaded)
	if wrong := <-judged; wrong > 0 {
		t.Errorf("meanwhile, %d near-duplicates of revoked messages were listed", wrong)
	}
	check(b, "after the snapshot", true)
	if b.Wanting("a") {
		t.Error("wanting after the snapshot")
	}
	bloomdbtest.PublishSnapshot(t, a).Take(t, b)
	check(b, "after the same snapshot once more", true)
}

// An incomplete snapshot may end within the sketches of a generation. They are looked up once a
// complete one is loaded.
func TestIncompleteSketches(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	mustReportSet(t, a, text(1))
	bloomdbtest.Drain(t, a) // lost
	m, pieces := inPieces(t, a, bloomdbtest.PublishSnapshot(t, a))
	m.Whole = false // what is omitted is empty
	for i, chunk := range pieces {
		testenv.Check(t, b.ApplyChunk(m, i, chunk))
	}
	testenv.Check(t, b.FinishSnapshot(m))
	if e := b.Judge(near(1)); e.Listed || len(e.Weak) > 0 {
		t.Errorf("incomplete: %+v", e)
	}
	if bloomdbtest.PublishSnapshot(t, a).Take(t, b); !b.Judge(near(1)).Listed || b.Wanting("a") {
		t.Errorf("complete: wanting %v", b.Wanting("a"))
	}
}

// A site that gets only a part of the deltas of many sketches finds no near-duplicate of what their
// site has revoked.
func TestDeltasOfSketches(t *testing.T) {
	const several = 500
	open := func(site string) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Reports.Capacity = 100_000
		return bloomdbtest.Open(t, o)
	}
	a, b := open("a"), open("b")
	for n := range several {
		mustReportSet(t, a, text(n))
	}
	for n := 1; n < several; n++ {
		testenv.Check(t, a.Revoke(text(n)))
	}
	deltas := bloomdbtest.Drain(t, a)
	for i, d := range deltas {
		bloomdbtest.Apply(t, b, d)
		for n := 1; n < several; n += 10 {
			if b.Judge(near(n)).Listed {
				t.Errorf("after %d of %d deltas, a near-duplicate of message %d is listed", i+1, len(deltas), n)
			}
		}
	}
	if len(deltas) < 5 || !b.Judge(near(0)).Listed {
		t.Errorf("%d deltas; is the near-duplicate of the message that was not revoked listed: %t", len(deltas), b.Judge(near(0)).Listed)
	}
}

// text returns message n with words of its own, and near a near-duplicate of it.
func text(n int) signature.Set { return wordy(n, words(1000*n, 60)...) }
func near(n int) signature.Set { return wordy(10_000+n, words(1000*n+2, 60)...) }

// inPieces returns a snapshot with each block in a chunk of its own.
func inPieces(t *testing.T, db *bloomdb.DB, p bloomdbtest.Snapshot) (m wire.Manifest, pieces [][]byte) {
	ks := db.Keyspace()
	m, err := ks.Sealer.ReadManifest(p.Manifest)
	testenv.Check(t, err)
	m.IDs = nil
	for _, chunk := range p.Chunks {
		h, body, err := ks.Sealer.OpenRecord(chunk, wire.RecordChunk)
		testenv.Check(t, err)
		for r := (&wire.RecordReader{B: body[4:]}); len(r.B) > 0; {
			s, err := wire.DecodeSectionHead(r)
			testenv.Check(t, err)
			for blocks := (wire.RecordReader{B: r.Take(int(r.U32()))}); len(blocks.B) > 0; {
				block := blocks.B
				blocks.U32()
				blocks.Take(int(blocks.U32()))
				piece := bodyOf(ks.Settings, len(pieces), s, block[:len(block)-len(blocks.B)])
				pieces = append(pieces, ks.Sealer.EncodeRecord(h, piece))
				m.IDs = append(m.IDs, wire.ChunkID(pieces[len(pieces)-1]))
			}
		}
	}
	return m, pieces
}

// bodyOf returns the body of a chunk of one block.
func bodyOf(o *layout.Settings, number int, s wire.DeltaSection, block []byte) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(number))
	body = o.AppendSectionHead(body, s.Target, s.Shape)
	return append(binary.BigEndian.AppendUint32(body, uint32(len(block))), block...)
}
