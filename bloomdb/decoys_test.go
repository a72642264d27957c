package bloomdb_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// sendDecoys has a member store all groups of a message in each of 16 epochs. The epochs
// together have more keys of each group than a match needs, and none of them has enough.
func sendDecoys(t *testing.T, from, to *bloomdb.DB, set signature.Set) {
	t.Helper()
	shape := layout.BitsShape(bloomdbtest.SettingsOf(from).SketchShape())
	groups := from.Keyspace().Sketches.Asked(set.Sketches)[0].Groups
	for epoch := range uint64(16) {
		bits := make(map[uint64]filter.Cell)
		add := func(seed uint64) {
			for _, pos := range shape.Bits().Positions(keyring.Stretch(seed), nil) {
				bits[pos] = filter.Cell{Pos: pos, Value: 1}
			}
		}
		for _, g := range groups {
			seed := filter.Mix(g.Anchor ^ uint64(sketch.ReportedGroups))
			for i := range uint64(layout.AnchorCopies) {
				add(seed + i)
			}
			for i := range g.Weak - 1 {
				add(filter.Mix(seed ^ g.Keys[(int(epoch)+i)%len(g.Keys)]))
			}
		}
		cells := slices.SortedFunc(maps.Values(bits), func(a, b filter.Cell) int { return cmp.Compare(a.Pos, b.Pos) })
		d := wire.Delta{Site: "b", Epoch: 2 + 2*epoch, Seq: 1}
		d.Data = sealer(from).EncodeDelta(d, 0, []wire.DeltaSection{{Target: current(from, layout.SketchFilter), Shape: shape, Cells: cells}})
		testenv.Check(t, to.Apply(d.Data, peers.Skipped))
	}
}

// TestDecoys is the attack "decoys": a fully trusted member stores nearly enough keys of all groups of
// a common message in each of its epochs, and so in five periods. Each copy took 0.2 s of judging. The search for
// near-duplicates in the filters of other sites ends after many lookups. This site's reports are
// found all the same.
func TestDecoys(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	open := func(site string) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Reports.Capacity = 10_000
		return bloomdbtest.Open(t, o)
	}
	a, b := open("a"), open("b")
	text, changed := words(1, 400), words(1, 400)
	for i := 0; i < len(changed); i += 8 {
		changed[i] += 1000
	}
	common, like := wordy(1, text...), wordy(2, changed...)
	sendDecoys(t, b, a, common)
	if e := a.Judge(common); e.Listed || e.Limits&signature.LimitGroups == 0 {
		t.Errorf("listed %v, limits %v, want only the limit of groups", e.Listed, e.Limits.Names())
	}
	mustReportSet(t, a, common)
	if !a.Judge(like).Listed {
		t.Error("the report of this site does not list a near-duplicate")
	}
}
