package bloomdb_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// Two sites contradict each other about messages, and change the federation key. Under the new key, the
// last word is the same, whichever site lists its reports first, and also for near-duplicates.
func TestLastWordUnderNewKey(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		c := bloomdbtest.NewClock()
		options, sites := map[string]bloomdb.Options{}, map[string]*bloomdb.DB{}
		for _, name := range []string{"a", "b"} {
			o := bloomdbtest.Options(t.TempDir(), name)
			o.Now = c.Now
			options[name], sites[name] = o, bloomdbtest.Open(t, o)
		}
		set := func(n int) signature.Set { return wordy(n, words(1000*n, 60)...) }
		sketches := func(n int) signature.Set { return signature.Set{Sketches: set(n).Sketches} }
		say := func(by string, word func(db *bloomdb.DB)) {
			word(sites[by])
			bloomdbtest.Apply(t, sites[map[string]string{"a": "b", "b": "a"}[by]], bloomdbtest.Drain(t, sites[by])...)
		}
		report := func(sets ...signature.Set) func(*bloomdb.DB) {
			return func(db *bloomdb.DB) {
				for _, s := range sets {
					mustReportSet(t, db, s)
				}
			}
		}
		revoke := func(sets ...signature.Set) func(*bloomdb.DB) {
			return func(db *bloomdb.DB) {
				for _, s := range sets {
					must(t, db.Revoke(s))
				}
			}
		}
		say("a", report(set(1), set(2), set(3), sketches(4)))
		say("b", revoke(set(1), set(2), sketches(4)))
		say("a", report(set(1), set(2), sketches(4))) // 1, 3 and 4 remain spam
		say("b", revoke(set(2)))

		second := map[string]string{"a": "b", "b": "a"}[first]
		for _, name := range []string{first, second} {
			testenv.Check(t, sites[name].Close())
			db := bloomdbtest.Open(t, rolledOver(options[name]))
			for range 2 { // as after an interruption
				for n, s := range map[int]signature.Set{1: set(1), 2: set(2), 3: set(3), 4: sketches(4)} {
					if name == "b" && n == 3 {
						continue
					}
					_, err := db.Relist(s, layout.ClassOther, name == "b", c.Now(), nil)
					testenv.Check(t, err)
				}
			}
			testenv.Check(t, db.Relisted())
			testenv.Check(t, db.Close())
			sites[name] = bloomdbtest.Open(t, onlyNew(options[name]))
		}
		bloomdbtest.PublishSnapshot(t, sites["a"]).Take(t, sites["b"])
		bloomdbtest.PublishSnapshot(t, sites["b"]).Take(t, sites["a"])
		for name, db := range sites {
			for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true} {
				if got := db.Judge(set(n)).Listed; got != want {
					t.Errorf("%s first: site %s, message %d: listed %v, want %v", first, name, n, got, want)
				}
			}
			testenv.Check(t, db.Close())
		}
	}
}
