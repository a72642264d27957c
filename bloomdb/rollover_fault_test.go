package bloomdb_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// A report that one of the two databases cannot write is rejected, and listed in neither. It
// can be retried, and acknowledged reports are on disk in both.
func TestFaultOfOneOfTwo(t *testing.T) {
	for name, faulty := range map[string]func(*bloomdb.DB) *bloomdb.DB{
		"current":  func(db *bloomdb.DB) *bloomdb.DB { return db },
		"previous": func(db *bloomdb.DB) *bloomdb.DB { return db.Previous() },
	} {
		t.Run(name, func(t *testing.T) {
			o := rolledOver(bloomdbtest.Options(t.TempDir(), "b"))
			db := bloomdbtest.Open(t, breakable(o))
			bloomdbtest.Report(t, db, 1)
			mend := breakDisk(t, faulty(db))
			if err := db.Report(bloomdbtest.Message(2), layout.ClassOther); err == nil {
				t.Fatal("acknowledged without a disk")
			}
			if err := db.Revoke(bloomdbtest.Message(1)); err == nil {
				t.Fatal("acknowledged without a disk")
			}
			if _, err := db.Retouch(bloomdbtest.Message(1)); err == nil {
				t.Fatal("retouched without a disk")
			}
			for _, d := range db.Keyspaces() {
				if lists(d, bloomdbtest.Message(2)) || !lists(d, bloomdbtest.Message(1)) {
					t.Errorf("%s contains a rejected change", hex.EncodeToString(d.Ring.KeyID[:]))
				}
			}
			if db.Fault() == nil {
				t.Error("the fault is not reported")
			}
			mend()
			bloomdbtest.Report(t, db, 2)
			crash(t, db)
			db = bloomdbtest.Open(t, o)
			for _, d := range db.Keyspaces() {
				for n := 1; n <= 2; n++ {
					if !lists(d, bloomdbtest.Message(n)) {
						t.Errorf("message %d is lost in %s", n, hex.EncodeToString(d.Ring.KeyID[:]))
					}
				}
			}
		})
	}
}

// lists reports whether one keyspace alone lists all of a message's signatures.
func lists(ks *keyspace.Keyspace, set signature.Set) bool {
	e := bloomdb.Alone(ks).Judge(set)
	for _, s := range set.Signatures {
		if !slices.ContainsFunc(e.Matches, func(m bloomdb.Match) bool { return m.Signature == s && !m.Revoked }) {
			return false
		}
	}
	return true
}

// If one database is full, both reject reports.
func TestOneOfTwoIsFull(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Reports.Capacity = 50
	db := bloomdbtest.Open(t, o)
	n := 0
	for ; ; n++ {
		if err := db.Report(bloomdbtest.Message(n), layout.ClassOther); errors.Is(err, layout.ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, rolledOver(o))
	if err := db.Report(bloomdbtest.Message(n), layout.ClassOther); !errors.Is(err, layout.ErrFull) {
		t.Fatalf("%v, want ErrFull", err)
	}
	if db.Judge(bloomdbtest.Message(n)).Listed {
		t.Error("it is listed nevertheless")
	}
}

// A retouch under one key hides reports under the other in its generation, until the site
// itself reports the message.
func TestRetouchAcrossKeys(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Now = c.Now
	r := newRolling(t, c.Now)
	before := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, r.a, 1)
	bloomdbtest.Apply(t, before, bloomdbtest.Drain(t, r.a)...)
	mustRetouch(t, before, 1)
	testenv.Check(t, before.Close())
	b := bloomdbtest.Open(t, rolledOver(o))
	listed(t, b, 1, false)
	bloomdbtest.Report(t, r.c, 1)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, r.c)...)
	listed(t, b, 1, false)
	if keys := b.Retouched(); len(keys) != 2 {
		t.Errorf("retouched: %+v", keys)
	}
	bloomdbtest.Report(t, b, 1)
	listed(t, b, 1, true)

	bloomdbtest.Report(t, r.a, 2)
	bloomdbtest.Report(t, r.c, 2)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, r.c)...)
	bloomdbtest.Apply(t, b.Previous(), bloomdbtest.Drain(t, r.a)...)
	listed(t, b, 2, true)
	plan, err := b.PlanRetouch(bloomdbtest.Message(2))
	if err != nil || len(plan.Listings) != 2 {
		t.Errorf("%v: %+v", err, plan.Listings)
	}
	mustRetouch(t, b, 2)
	listed(t, b, 2, false)
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, r.c, 2)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, r.c)...)
	listed(t, b, 2, true)
}

// The counts of a domain from before the key change count after it, once.
func TestDomainsOfBothKeys(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	db := bloomdbtest.Open(t, o)
	reportCampaigns(t, db, "before", 2, "spam.example")
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, rolledOver(o))
	if e := db.Judge(linking("other", "spam.example")); e.Listed {
		t.Errorf("two campaigns: %+v", e)
	}
	reportCampaigns(t, db, "after", 1, "spam.example")
	e := db.Judge(linking("other", "spam.example"))
	if !e.Listed || len(e.Matches) != 1 || e.Matches[0].Domain != "spam.example" {
		t.Errorf("three campaigns: %+v", e)
	}
	if d := db.ExplainDomains(linking("other", "spam.example")); len(d) != 1 || d[0].Campaigns != 3 || !d[0].Alone() {
		t.Errorf("explained: %+v", d)
	}
	testenv.Check(t, db.Revoke(linking("after 0", "spam.example")))
	if db.Judge(linking("other", "spam.example")).Listed {
		t.Error("it was revoked")
	}
}

// A muted or dropped site stays so under the new key, and later changes apply to both databases,
// also after a crash.
func TestMutedAcrossKeys(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	db := bloomdbtest.Open(t, o)
	testenv.Check(t, db.Mute("a", true))
	testenv.Check(t, db.Drop("x"))
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, rolledOver(o))
	dropped := func(s bloomdb.SiteStatus) bool { return s.Site == "x" && s.Dropped }
	for _, d := range []*bloomdb.DB{db, db.Previous()} {
		if s := d.Status(); !d.Muted("a") || !slices.ContainsFunc(s.Sites, dropped) {
			t.Errorf("under %s: a muted %v, sites %+v", s.KeyID, d.Muted("a"), s.Sites)
		}
	}
	testenv.Check(t, db.Mute("a", false))
	testenv.Check(t, db.Drop("y"))
	for _, d := range []*bloomdb.DB{db, db.Previous()} {
		if d.Muted("a") || !d.Muted("y") {
			t.Errorf("under %s: a muted %v, y muted %v", d.Status().KeyID, d.Muted("a"), d.Muted("y"))
		}
	}
	crash(t, db)
	db = bloomdbtest.Open(t, rolledOver(o))
	if db.Muted("a") || db.Previous().Muted("a") || !db.Muted("x") {
		t.Error("unmuted, but muted again after a restart")
	}
}

// While a site changes its Ed25519 key, sites that have both of its keys accept it throughout,
// under either federation key.
func TestSiteChangesItsKey(t *testing.T) {
	var keys []ed25519.PrivateKey
	for range 3 {
		key, err := keyring.NewSigningKey()
		testenv.Check(t, err)
		keys = append(keys, key)
	}
	public := func(i int) ed25519.PublicKey { return keys[i].Public().(ed25519.PublicKey) }
	o := rolledOver(bloomdbtest.Options(t.TempDir(), "b"))
	o.Members = wire.Members{"a": {Keys: []ed25519.PublicKey{public(0), public(1)}}}
	b := bloomdbtest.Open(t, o)
	ao := rolledOver(bloomdbtest.Options(t.TempDir(), "a"))
	for i, want := range []error{nil, nil, wire.ErrUnsigned} {
		ao.SigningKey = keys[i]
		a := bloomdbtest.Open(t, ao)
		bloomdbtest.Report(t, a, i)
		for _, pair := range [][2]*bloomdb.DB{{a, b}, {a.Previous(), b.Previous()}} {
			for _, d := range bloomdbtest.Drain(t, pair[0]) {
				if err := pair[1].Apply(d.Data, peers.Next); !errors.Is(err, want) {
					t.Errorf("key %d: %v, want %v", i, err, want)
				}
			}
		}
		listed(t, b, i, want == nil)
		testenv.Check(t, a.Close())
	}
}
