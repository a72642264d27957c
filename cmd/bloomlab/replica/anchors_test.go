package replica

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func realCorpus(t *testing.T) *Corpus {
	t.Helper()
	testenv.Program(t, "xz")
	c, err := Read(context.Background(), testenv.Corpus(t, "../../..", "spamassassin.tar.xz"))
	testenv.Check(t, err)
	return c
}

// anchored are the anchors of a sketch.
type anchored struct {
	kind   signature.Kind
	hashes []uint64
}

// anchorsOf lists the anchors of a message's sketches.
func anchorsOf(db *bloomdb.DB, raw []byte) (lists []anchored) {
	for _, s := range signature.Compute(signature.Parse(raw)).Sketches {
		if a := db.Anchors(s); len(a) > 0 {
			lists = append(lists, anchored{s.Kind, a})
		}
	}
	return lists
}

// alike reports whether two messages are about one thing by their anchors.
func alike(db *bloomdb.DB, a, b []anchored) bool {
	for _, x := range a {
		for _, y := range b {
			shared := 0
			for _, anchor := range x.hashes {
				if slices.Contains(y.hashes, anchor) {
					shared++
				}
			}
			if x.kind == y.kind && shared >= db.AnchorsNeed(x.kind, min(len(x.hashes), len(y.hashes))) {
				return true
			}
		}
	}
	return false
}

// The anchors of most varied copies of a spam are enough of the spam's, but not where other
// words are filled into a template; those of a ham and a spam never are. In a soak
// for all kinds, 150 spams and all ham; else for a few.
func TestAnchors(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	c := realCorpus(t)
	db, err := bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: "lab", Reports: bloomdb.ReportOptions{Capacity: 100}, Counts: bloomdb.CountOptions{Capacity: 100}})
	testenv.Check(t, err)
	defer db.Close()
	spams, mails, chosen := 40, 50, kinds(t, "swapped", "salutation", "template")
	if testenv.Soak() {
		spams, mails, chosen = 150, 1<<20, variation.Kinds()
	}
	c.Ham = c.Ham[:min(mails, len(c.Ham))] // the few kinds take nothing from ham
	all, found, from, originals := 0, 0, c.material(), c.choose(spams, 1)
	for _, k := range chosen {
		n, hits := varied(db, originals, from, k)
		t.Logf("%-18s %4d copies, %4d alike", k.Name, n, hits)
		if all, found = all+n, found+hits; 2*hits < n && k.Name != "template" && !testenv.Soak() {
			t.Errorf("%s: %d of %d copies are alike", k.Name, hits, n)
		}
	}
	t.Logf("all: %d copies, %.1f %% alike", all, 100*float64(found)/float64(all))
	pairs, names := unrelated(db, c.Ham, c.Spams[:min(mails, len(c.Spams))])
	t.Logf("of %d pairs of a ham and a spam, %d alike", pairs, len(names))
	if len(names) > 0 || pairs == 0 {
		t.Errorf("%d pairs, alike are %s", pairs, strings.Join(names, ", "))
	}
}

// varied counts the copies of some spams, and those that are alike.
func varied(db *bloomdb.DB, spams []Message, from *variation.Material, k variation.Kind) (n, hits int) {
	for _, m := range spams {
		raw, copied, ok := k.Vary(1, from, m.Mail, m.Raw)
		if !ok {
			continue
		}
		a, b := anchorsOf(db, raw), anchorsOf(db, copied)
		if len(a) == 0 || len(b) == 0 {
			continue // found by its exact signatures
		}
		if n++; alike(db, a, b) {
			hits++
		}
	}
	return n, hits
}

// unrelated compares hams with spams, and names the pairs that are alike.
func unrelated(db *bloomdb.DB, hams, spams []Message) (pairs int, names []string) {
	anchors := make([][]anchored, len(spams))
	byAnchor := make(map[uint64][]int)
	for i := range anchors {
		anchors[i] = anchorsOf(db, spams[i].Raw)
		for _, list := range anchors[i] {
			for _, a := range list.hashes {
				byAnchor[a] = append(byAnchor[a], i)
			}
		}
	}
	for _, ham := range hams {
		of := anchorsOf(db, ham.Raw)
		pairs += len(anchors)
		met := make(map[int]bool)
		for _, list := range of {
			for _, a := range list.hashes {
				for _, i := range byAnchor[a] {
					if !met[i] && alike(db, of, anchors[i]) {
						names = append(names, ham.Name+"/"+spams[i].Name)
					}
					met[i] = true
				}
			}
		}
	}
	return pairs, names
}
