package bloomdb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// varied returns words of which one in so many is another one.
func varied(list []int, oneIn, salt int) []int {
	list = slices.Clone(list)
	for i := range list {
		if (i+salt)%oneIn == 0 {
			list[i] = 100_000 + 1_000*salt + i
		}
	}
	return list
}

// number is how many trials there are, of other words each.
const number = 20

// trials is how many of the trials are to list a message.
type trials struct {
	name             string
	fewest, greatest int
}

// run counts the trials in which a message is listed, with one federation key, and during a change of it.
func (w trials) run(t *testing.T, isListed func(t *testing.T, db *bloomdb.DB, trial int) bool) {
	for suffix, previous := range map[string]*[32]byte{"": nil, ", two keys": {9}} {
		t.Run(w.name+suffix, func(t *testing.T) {
			o := bloomdbtest.Options(t.TempDir(), "mx1")
			o.PreviousKey = previous
			db, listed := bloomdbtest.Open(t, o), 0
			for trial := range number {
				if isListed(t, db, trial) {
					listed++
				}
			}
			t.Logf("%d of %d are listed", listed, number)
			if listed < w.fewest || listed > w.greatest {
				t.Errorf("%d of %d are listed, want %d to %d", listed, number, w.fewest, w.greatest)
			}
		})
	}
}

// A spam does not escape the near matches of its report by the words of an innocent message that was revoked.
// Near-duplicates of what was revoked do, whatever the report has of them: all of it, the half, or a paragraph.
func TestRevokedBesideSpam(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	tests := []struct {
		name             string
		spam, revoked    int // words
		common           int // first words of the revoked message, that are words of the reported one as well
		asked            func(spam, revoked []int, salt int) []int
		isEarlier        bool // the revocation comes before the report
		fewest, greatest int  // of the trials are listed
	}{
		{name: "a variation of the spam above the revoked text", spam: 120, revoked: 60, asked: func(s, r []int, salt int) []int { return slices.Concat(varied(s, 15, salt), r) }, fewest: number, greatest: number},
		{name: "and the revocation came first", spam: 120, revoked: 60, isEarlier: true, asked: func(s, r []int, salt int) []int { return slices.Concat(varied(s, 15, salt), r) }, fewest: number, greatest: number},
		{name: "below it", spam: 60, revoked: 200, asked: func(s, r []int, salt int) []int { return slices.Concat(r, varied(s, 15, salt)) }, fewest: number / 2, greatest: number},
		{name: "within it", spam: 120, revoked: 120, asked: func(s, r []int, salt int) []int { return slices.Concat(r[:60], varied(s, 15, salt), r[60:]) }, fewest: number * 3 / 4, greatest: number},
		{name: "a near-duplicate of the revoked message alone", spam: 120, revoked: 60, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
		{name: "the reported one is an issue of the revoked newsletter", spam: 200, revoked: 200, common: 200, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
		{name: "it has the half of it", spam: 200, revoked: 200, common: 100, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
		{name: "it is a paragraph of it", spam: 60, revoked: 600, common: 60, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
		{name: "it is a third of it", spam: 60, revoked: 180, common: 60, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
		{name: "both have a part of it, and some words in common", spam: 160, revoked: 160, common: 40, asked: func(s, r []int, salt int) []int { return slices.Concat(r[:80], s[80:]) }, greatest: number / 10},
		{name: "it is more than the revoked message", spam: 300, revoked: 150, common: 150, asked: func(_, r []int, salt int) []int { return varied(r, 15, salt) }},
	}
	for _, test := range tests {
		trials := trials{test.name, test.fewest, test.greatest}
		trials.run(t, func(t *testing.T, db *bloomdb.DB, trial int) bool {
			spam, innocent := words(10_000*trial, test.spam), words(10_000*trial+5_000, test.revoked)
			copy(innocent, spam[:test.common])
			report := func() { mustReportSet(t, db, wordy(3*trial, spam...)) }
			if !test.isEarlier {
				report()
			}
			mustReportSet(t, db, wordy(3*trial+1, innocent...)) // by mistake
			testenv.Check(t, db.Revoke(wordy(3*trial+1, innocent...)))
			if test.isEarlier {
				report()
			}
			return db.Judge(wordy(3*trial+2, test.asked(spam, innocent, trial)...)).Listed
		})
	}
}

// That goes for texts. A page is listed by the code of two senders, and revoked by its words.
func TestRevokedPage(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	framed := 0
	for trial := range 20 {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		word := func(s string) string { return fmt.Sprintf("%s%c", s, 'a'+trial) }
		mustReportSet(t, db, paged(word("a")+".example", "parcel station "+word("zo"), "first.example.org.ru"))
		mustReportSet(t, db, paged(word("b")+".example", "doctor pharmacy "+word("ka"), "third.org.uk"))
		copyFor := func(name string) signature.Set {
			words := name + " spring garden tulips seeds " + word("rose") + " planting calendar workshop saturday greenhouse opening " + word("fern")
			return paged(word("news")+".example", words, "newsletter.example.org")
		}
		if db.Judge(copyFor("carla")).Listed {
			framed++
		}
		testenv.Check(t, db.Revoke(copyFor("anna")))
		if e := db.Judge(copyFor("carla")); e.Listed {
			t.Errorf("trial %d: another copy of a revoked newsletter is listed: %+v", trial, e.Matches)
		}
		testenv.Check(t, db.Close())
	}
	if framed < 15 {
		t.Errorf("only %d newsletters were framed", framed)
	}
}

// Where sites have stored so many decoys that not all can be looked up, no match is apart from a revocation.
func TestApartIsBounded(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	open := func(site string) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Reports.Capacity = 100_000
		return bloomdbtest.Open(t, o)
	}
	a, b := open("a"), open("b")
	like := wordy(2, varied(words(1, 400), 16, 0)...)
	sendDecoys(t, b, a, like)
	mustReportSet(t, a, wordy(1, words(1, 400)...))
	testenv.Check(t, a.Revoke(wordy(1, words(1, 400)...)))
	if e := a.Judge(like); e.Listed || !slices.Contains(e.Limits.Names(), "groups") {
		t.Errorf("listed %v, limits %v", e.Listed, e.Limits.Names())
	}
}

// Nor does it escape by a declared text. Near-duplicates of that are spared, whatever was reported.
func TestDeclaredBesideSpam(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	tests := []struct {
		name             string
		spam, declared   int // words
		common           int // first words of the declared message, that are words of the reported one as well
		asked            func(spam, declared []int, salt int) []int
		fewest, greatest int // of the trials are listed
	}{
		{"a variation of the spam above the declared text", 100, 200, 0, func(s, d []int, salt int) []int { return slices.Concat(varied(s, 15, salt), d) }, number, number},
		{"above a long one", 150, 600, 0, func(s, d []int, salt int) []int { return slices.Concat(varied(s, 15, salt), d) }, number * 3 / 4, number},
		{"the declared text alone", 100, 200, 0, func(_, d []int, _ int) []int { return d }, 0, 0},
		{"a copy of it was reported", 200, 200, 200, func(_, d []int, salt int) []int { return varied(d, 15, salt) }, 0, 0},
		{"a half of it was reported", 100, 200, 100, func(_, d []int, salt int) []int { return varied(d, 15, salt) }, 0, 0},
		{"a third of it was reported", 60, 200, 60, func(_, d []int, salt int) []int { return varied(d, 15, salt) }, 0, 0},
		{"a part of a long one was reported", 60, 2000, 60, func(_, d []int, salt int) []int { return varied(d, 15, salt) }, 0, 0},
	}
	for _, test := range tests {
		trials := trials{test.name, test.fewest, test.greatest}
		trials.run(t, func(t *testing.T, db *bloomdb.DB, trial int) bool {
			spam, declared := words(10_000*trial, test.spam), words(10_000*trial+5_000, test.declared)
			copy(declared, spam[:test.common])
			mustReportSet(t, db, wordy(3*trial, spam...))
			mustNever(t, db, wordy(3*trial+1, declared...), "")
			return db.Judge(wordy(3*trial+2, test.asked(spam, declared, trial)...)).Listed
		})
	}
}
