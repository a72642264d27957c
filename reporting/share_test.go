package reporting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// noise is a set of random digests, as nobody can check that they are of a message.
func noise(random *rand.Rand, n int) (set signature.Set) {
	for range n {
		s := signature.Signature{Kind: signature.KindAttachment}
		for i := 0; i < len(s.Digest); i += 8 {
			binary.LittleEndian.PutUint64(s.Digest[i:], random.Uint64())
		}
		set.Signatures = append(set.Signatures, s)
	}
	return set
}

// Revocations of what nobody reported write nothing, however many they are: the filter
// of revocations stays as it is for everybody else.
func TestRevocationOfWhatIsNotListed(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	spam := letter(1, 0)
	s.report("anna", spam)
	before, err := s.ledger.Status()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 978 {
		o, err := s.Revoke(Report{Set: noise(random, 256), Reporter: "mallory"})
		if err != nil || !o.Idle {
			t.Fatalf("request %d: %+v, %v", i, o, err)
		}
	}
	if after, err := s.ledger.Status(); err != nil || after.Reports != before.Reports || after.Reporters != before.Reporters {
		t.Errorf("the ledger has %+v, had %+v: %v", after, before, err)
	}
	for _, f := range s.db.Status().Filters {
		if f.Kind == "revoked" && f.Fill > 0 {
			t.Errorf("the filter of revocations is filled: %+v", f)
		}
	}
	if o := s.revoke("bob", spam); o.Idle {
		t.Error("bob's revocation has no effect")
	}
	s.wantListed("what bob revoked", spam, false)
}

// A revocation of what another site listed writes, though nobody reported it here.
func TestRevocationOfWhatAnotherSiteListed(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	o := smallOptions(t.TempDir())
	o.Site, o.Exchange, o.Now = "other", true, s.db.Now
	other, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	spam := letter(1, 0)
	if err := errors.Join(other.Resume(0, 0), other.Report(spam, bloomdb.ClassOther)); err != nil {
		t.Fatal(err)
	}
	if o := s.revoke("anna", spam); !o.Idle {
		t.Errorf("before the listing arrives: %+v", o)
	}
	delta, _, err := other.NextDelta(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Apply(delta.Data, bloomdb.Next); err != nil {
		t.Fatal(err)
	}
	s.wantListed("what the other site listed", spam, true)
	if o := s.revoke("anna", spam); o.Idle {
		t.Errorf("a revocation of it: %+v", o)
	}
	s.wantListed("after the revocation", spam, false)
}

// flood enters noise until it is refused.
func flood(t *testing.T, enter func(Report) (Outcome, error), r func() Report) error {
	t.Helper()
	for range 10_000 {
		if _, err := enter(r()); err != nil {
			return err
		}
	}
	t.Fatal("nothing was refused")
	return nil
}

// wantShare checks a refusal that names the party.
func wantShare(t *testing.T, err error, whose string) {
	t.Helper()
	if !errors.Is(err, ledger.ErrShare) || !strings.Contains(err.Error(), whose+" has taken the ") {
		t.Fatalf("%v, want that the share of %s is used up", err, whose)
	}
	if p := problemOf(err); p.Status != http.StatusTooManyRequests || !strings.Contains(p.Detail, whose) {
		t.Errorf("answered %+v", p)
	}
}

// One reporter can fill neither the filter of reports nor that of revocations: others
// go on, and so does the reporter in the next period.
func TestReportersShare(t *testing.T) {
	s, random := newStage(t, trust.Default(), 0), rand.New(rand.NewPCG(1, 2))
	err := flood(t, s.Report, func() Report { return Report{Set: noise(random, 16), Reporter: "mallory"} })
	wantShare(t, err, "mallory")
	if !strings.Contains(err.Error(), "25 % of the period's reports that one may have; the next period begins 2026-11-26 00:00Z") {
		t.Error(err)
	}
	accomplices := 0
	err = flood(t, s.Revoke, func() Report {
		accomplices++
		own := noise(random, 1) // listed, so that there is something to revoke
		s.report(fmt.Sprint("accomplice", accomplices), own)
		return Report{Set: signature.Set{Signatures: append(noise(random, 16).Signatures, own.Signatures...)}, Reporter: "mallory"}
	})
	wantShare(t, err, "mallory")
	for i := range 4 {
		s.report("anna", letter(i, 0))
		s.wantListed("what anna reported", letter(i, 0), true)
	}
	s.revoke("bob", letter(1, 0))
	s.wantListed("what bob revoked", letter(1, 0), false)
	s.now.Add(7 * 24 * 3600)
	s.report("mallory", letter(9, 0))
	s.wantListed("mallory's report of the next period", letter(9, 0), true)
}

// What stands in the filters already takes nothing of a share.
func TestKnownReportsAreFree(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	s.report("anna", letter(1, 0))
	for _, revoke := range []bool{false, true} {
		if revoke {
			s.revoke("anna", letter(1, 0))
		}
		if cost := s.db.Cost(letter(1, 0), revoke); cost != 0 {
			t.Errorf("revoke %v: it costs %g once more", revoke, cost)
		}
		if cost := s.db.Cost(letter(2, 0), revoke); cost <= 0 {
			t.Errorf("revoke %v: another one costs %g", revoke, cost)
		}
	}
}

// A program that speaks for others cannot fill the filters under many names, nor a trap.
func TestOriginsShare(t *testing.T) {
	s, random := newStage(t, trust.Default(), 0), rand.New(rand.NewPCG(1, 2))
	wantShare(t, flood(t, s.Report, func() Report {
		return Report{Set: noise(random, 16), Reporter: "trap:lure", Trap: true}
	}), "trap:lure")
	s, names := newStage(t, trust.Default(), 0), 0
	store := Origin{Client: "store"}
	wantShare(t, flood(t, s.Report, func() Report {
		names++
		return Report{Set: noise(random, 16), Reporter: fmt.Sprint("user", names), Origin: store}
	}), "tcp:store")
	if _, err := s.Report(Report{Set: letter(1, 0), Reporter: "anna", Origin: Origin{Known: true, UID: 1000}}); err != nil {
		t.Error(err)
	}
	s.wantListed("what anna reported", letter(1, 0), true)
}
