package bloomdb_test

import (
	"crypto/ed25519"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site recognises its own records by its signing key. A record that a member made in the
// site's name is reported as such. Nobody else can make one.
func TestOwnRecord(t *testing.T) {
	_, private := newSigningKey(t)
	_, others := newSigningKey(t)
	options := func(site string, change func(*bloomdb.Options)) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.SigningKey = private
		change(&o)
		return bloomdbtest.Open(t, o)
	}
	a := options("a", func(*bloomdb.Options) {})
	unchanged := func(*bloomdb.Options) {}
	for _, tc := range []struct {
		name     string
		by       *bloomdb.DB
		want     error
		verified bool
	}{
		{"own", options("a", unchanged), nil, true},
		{"of another key", options("a", func(o *bloomdb.Options) { o.SigningKey = others }), wire.ErrUnsigned, false},
		{"not signed", options("a", func(o *bloomdb.Options) { o.SigningKey = nil }), wire.ErrUnsigned, false},
		{"of another site", options("b", unchanged), wire.ErrUnverified, false},
		{"of another federation", options("a", func(o *bloomdb.Options) { o.Key[0]++ }), wire.ErrFederation, false},
	} {
		record := tc.by.Heartbeat(0, 0)
		h, err := a.OwnRecord(record, wire.RecordHeartbeat)
		if !errors.Is(err, tc.want) || errors.Is(err, wire.ErrUnverified) == tc.verified {
			t.Errorf("%s: %v", tc.name, err)
		}
		if epoch, _ := tc.by.Head(); tc.verified && h.Epoch != epoch {
			t.Errorf("%s: %v", tc.name, h)
		}
		for at := range record {
			record[at] ^= 1
			if _, err := a.OwnRecord(record, wire.RecordHeartbeat); !errors.Is(err, wire.ErrUnverified) {
				t.Fatalf("%s, byte %d changed: %v", tc.name, at, err)
			}
			record[at] ^= 1
		}
	}
	votes, _, err := a.Votes()
	testenv.Check(t, err)
	if h, err := a.OwnRecord(votes, wire.RecordHeartbeat); !errors.Is(err, wire.ErrUnverified) {
		t.Errorf("votes in the place of a heartbeat: %v, %v", h, err)
	}
	if h, err := a.OwnRecord(nil, wire.RecordHeartbeat); err == nil {
		t.Errorf("an empty record is read as %v", h)
	}
}

// Bytes that the site did not sign replace each of its records. They are rejected with
// ErrUnverified, change no cursor and no epoch, and take no memory.
func TestForgedRecordsChangeNothing(t *testing.T) {
	public, private := newSigningKey(t)
	_, others := newSigningKey(t)
	bo := bloomdbtest.Options(t.TempDir(), "b")
	bo.Members = wire.Members{"a": {Keys: []ed25519.PublicKey{public}}}
	b := bloomdbtest.Open(t, bo)
	forge := func(change func(*bloomdb.Options)) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), "a")
		o.SigningKey = private
		change(&o)
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 1)
		return db
	}
	genuine := forge(func(*bloomdb.Options) {})
	for name, db := range map[string]*bloomdb.DB{
		"no key": forge(func(o *bloomdb.Options) { o.SigningKey, o.Key[0] = nil, 77 }), "a member": forge(func(o *bloomdb.Options) { o.SigningKey = others }),
		"torn": genuine,
	} {
		deltas, p := bloomdbtest.Drain(t, db), bloomdbtest.PublishSnapshot(t, db)
		heartbeat := db.Heartbeat(1, 1)
		m, err := genuine.ReadManifest(bloomdbtest.PublishSnapshot(t, genuine).Manifest)
		testenv.Check(t, err)
		for what, try := range map[string]struct {
			record []byte
			give   func([]byte) error
		}{
			"delta":     {deltas[0].Data, func(r []byte) error { return b.Apply(r, peers.Lost) }},
			"manifest":  {p.Manifest, func(r []byte) error { _, err := b.ReadManifest(r); return err }},
			"chunk":     {p.Chunks[0], func(r []byte) error { return b.ApplyChunk(m, 0, r) }},
			"heartbeat": {heartbeat, func(r []byte) error { _, err := b.ReadHeartbeat(r); return err }},
			"another":   {heartbeat, func(r []byte) error { return b.Apply(r, peers.Lost) }},
		} {
			record := append([]byte(nil), try.record...)
			if name == "torn" {
				record[len(record)-1] ^= 1
			}
			if err := try.give(record); !errors.Is(err, wire.ErrUnverified) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
	if epoch, seq := b.Cursor("a"); epoch != 0 || seq != 0 || len(b.Status().Sites) != 1 {
		t.Errorf("cursor %d-%d, held %+v", epoch, seq, b.Status().Sites)
	}
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, forge(func(*bloomdb.Options) {}))...)
	if !b.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("the genuine record was not applied")
	}
}

// An epoch above all possible times is rejected, even if the site signed it, because no epoch
// could follow it.
func TestEpochBeyondAllTimes(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for epoch, ok := range map[uint64]bool{1: true, lastEpoch: true, lastEpoch + 1: false, math.MaxUint64: false} {
		record := sealer(a).EncodeRecord(wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: epoch, Made: a.Now()}, make([]byte, 16))
		if _, err := b.ReadHeartbeat(record); (err == nil) != ok {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
}

// Supersede with a number that the site assigned but does not remember continues after it. With
// a number that it did not assign, the site begins another epoch. A second call changes nothing.
func TestSupersede(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
		for range rapid.IntRange(0, 3).Draw(rt, "published") {
			bloomdbtest.Report(t, a, rapid.IntRange(0, 99).Draw(rt, "message"))
			bloomdbtest.Drain(t, a)
		}
		epoch, seq := a.Head()
		reserved := identity(t, bloomdbtest.OptionsOf(a).Dir).ReservedSeq
		said := epoch + uint64(rapid.SampledFrom([]int64{-5, -1, 0, 1, 64, 1 << 30}).Draw(rt, "epoch"))
		number := uint64(rapid.IntRange(0, 6).Draw(rt, "number"))
		beyond := said > epoch || said == epoch && number > reserved
		if a.IsBeyond(said, number) != beyond {
			rt.Fatalf("%d-%d is beyond %d-%d: %v", said, number, epoch, reserved, !beyond)
		}
		for range 2 {
			if err := a.Supersede(said, number); err != nil {
				rt.Fatal(err)
			}
		}
		now, head := a.Head()
		switch {
		case beyond && (now <= said || now > said+2 || !identity(t, bloomdbtest.OptionsOf(a).Dir).Republish):
			rt.Fatalf("epoch %d after %d-%d was said, was %d", now, said, number, epoch)
		case !beyond && (now != epoch || head < seq || head > reserved):
			rt.Fatalf("%d-%d after %d-%d was said, was %d-%d", now, head, said, number, epoch, seq)
		}
		on, err := folder.ReadIdentity(bloomdbtest.OptionsOf(a).Dir)
		if err != nil || on.Epoch != now {
			rt.Fatalf("on disk: %+v, %v", on, err)
		}
	})
}

// An epoch of another folder, made at another time, is not continued: sites that hold both add
// their counts.
func TestEpochAfterAnotherFolder(t *testing.T) {
	c := bloomdbtest.NewClock()
	ao := bloomdbtest.Options(t.TempDir(), "a")
	ao.Now = c.Now
	older := bloomdbtest.Open(t, ao)
	bloomdbtest.Report(t, older, 1)
	bloomdbtest.Drain(t, older) // never applied by another site
	c.Add(time.Hour)
	o := ao
	o.Dir = t.TempDir()
	newer, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Count(t, newer, 2, 30)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, newer)...)
	bloomdbtest.Count(t, older, 2, 7)
	if err := b.Apply(bloomdbtest.Drain(t, older)[0].Data, peers.Lost); !errors.Is(err, wire.ErrReplayed) {
		t.Fatal(err)
	}
	testenv.Check(t, older.Supersede(newer.Head()))
	bloomdbtest.Drain(t, older)
	bloomdbtest.PublishSnapshot(t, older).Take(t, b)
	if e := b.Judge(bloomdbtest.Message(2)); e.Count != 37 {
		t.Errorf("%d sightings, must be 30 of the newer folder and 7 of the older one", e.Count)
	}
	if !b.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a report of the older folder is lost")
	}
}

// A heartbeat requests the missing records of up to 16 sites.
func TestWants(t *testing.T) {
	a, b, c := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "c"))
	var many []string
	for i := range 20 {
		many = append(many, string(rune('d'+i)))
	}
	for _, tc := range []struct {
		wants []string
		b, c  bool
	}{
		{nil, false, false}, {[]string{"b"}, true, false}, {[]string{"x", "c", "b"}, true, true}, {append([]string{"c"}, many...), false, true},
		{append(many[:16:16], "b"), false, false},
	} {
		record := a.Heartbeat(1, 2, tc.wants...)
		if len(record) > 512 {
			t.Errorf("%d bytes", len(record))
		}
		for db, want := range map[*bloomdb.DB]bool{b: tc.b, c: tc.c} {
			if h, err := db.ReadHeartbeat(record); err != nil || h.WantsUs != want || h.Snapshot != 1 || h.Votes != 2 {
				t.Errorf("%v, %s: %+v, %v", tc.wants, bloomdbtest.OptionsOf(db).Site, h, err)
			}
		}
	}
	for _, length := range []int{0, 15, 17, 23, 16 + 17*8} {
		record := sealer(a).EncodeRecord(wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: 2, Made: a.Now()}, make([]byte, length))
		if _, err := b.ReadHeartbeat(record); err == nil {
			t.Errorf("a body of %d bytes is accepted", length)
		}
	}
}

// lastEpoch is the largest epoch that a record may have.
const lastEpoch = 1 << 53
