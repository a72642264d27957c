package bloomdb_test

import (
	"errors"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// TestWholeLines is the attack "whole lines": a fully trusted member sets all bits of some lines, and
// all cells of a small counting filter, within its caps. All mail with a key there would be listed,
// and all mail would be bulk.
func TestWholeLines(t *testing.T) {
	open := func(site string) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Reports.Capacity = 20_000
		return bloomdbtest.Open(t, o)
	}
	a, b := open("a"), open("b")
	own := bloomdbtest.SettingsOf(b)
	seq := uint64(0)
	for kind, shape := range map[layout.Kind]layout.Shape{
		layout.SpamFilter:   layout.BitsShape(own.SpamShape()),
		layout.SketchFilter: layout.BitsShape(own.SketchShape()),
		layout.CountFilter:  layout.CountsShape(filter.CountsShape{Lines: 1}),
	} {
		const lines = 32 << 9
		for from := uint64(0); from < shape.Size(kind)/4 || from == 0; from += lines {
			sec := wire.DeltaSection{Target: current(b, kind), Shape: shape}
			for pos := from; pos < min(shape.Size(kind), from+lines); pos++ {
				sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 1})
				if kind == layout.CountFilter {
					sec.Cells[pos].Value = filter.MaxValue
				}
			}
			seq++
			d := wire.Delta{Site: "b", Epoch: 2, Seq: seq}
			d.Data = sealer(b).EncodeDelta(d, 0, []wire.DeltaSection{sec})
			if err := a.Apply(d.Data, peers.Skipped); !errors.Is(err, wire.ErrCapped) {
				t.Errorf("%s from %d: %v, want ErrCapped", kind, from, err)
			}
		}
	}
	listed, near, bulk := 0, 0, 0
	for n := range 1000 {
		e := a.Judge(bloomdbtest.Message(n))
		if e.Listed {
			listed++
		}
		if e.Count > 0 {
			bulk++
		}
		if a.Judge(wordy(10_000+n, words(n*1000, 200)...)).Listed {
			near++
		}
	}
	if listed+near+bulk > 0 {
		t.Errorf("of 1,000 messages that nobody reported or counted, %d are listed, %d as near-duplicates, %d are counted", listed, near, bulk)
	}
}

// TestSmallCountsOfAllPeriods is the attack "small counts": a fully trusted member counts all messages,
// in each period and epoch as often as it may. The periods are added, but all mail is not bulk.
func TestSmallCountsOfAllPeriods(t *testing.T) {
	const threshold = 20 // the default of bulk.threshold
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	sec := wire.DeltaSection{Target: current(b, layout.CountFilter), Shape: layout.CountsShape(filter.CountsShape{Lines: 1})}
	for pos := range uint64(128) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 14})
	}
	for seq := range uint64(2) {
		d := wire.Delta{Site: "b", Epoch: 2, Seq: seq + 1}
		d.Data = sealer(b).EncodeDelta(d, seq, []wire.DeltaSection{sec})
		bloomdbtest.Apply(t, a, d)
		sec.Target.Gen--
	}
	if n := a.Judge(bloomdbtest.Message(1)).Count; n == 0 || n >= threshold {
		t.Errorf("a message that nobody has counted has count %d, want 1 to %d", n, threshold-1)
	}
}
