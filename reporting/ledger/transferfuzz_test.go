package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// FuzzImport: whatever comes, it is refused without a trace, or it is taken, and then
// can be exported and taken again by another ledger.
func FuzzImport(f *testing.F) {
	a := open(f, trust.Default())
	v := voice{t: f, l: a, at: begin}
	f.Add(exported(f, a))
	for i := range maxInline + 2 {
		v.say(Spam, fmt.Sprint("r", i), message(1, 1))
	}
	sketched := message(2, 2)
	sketched.Sketches = []signature.Sketch{{Kind: signature.KindSketch, Keys: []signature.Feature{{Pos: 1, Hash: 2}}}}
	v.say(Ham, "anna", sketched, Anchors{Hashes: []uint64{1}, Need: 1})
	f.Add(exported(f, a))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := from(data, begin)
		o.Relist = true
		if _, err := checkExport(o); err != nil {
			if !errors.Is(err, ErrExport) {
				t.Fatal(err)
			}
			return
		}
		b, c := open(t, pair), open(t, pair)
		if sum, err := b.Import(o); err != nil {
			if s, _ := b.Status(); !errors.Is(err, ErrExport) || sum != (Imported{}) || s.Reports+s.Reporters+int64(s.Due) > 0 {
				t.Fatal(sum, s, err)
			}
			return
		}
		want := content(t, b, begin)
		if _, err := c.Import(from(exported(t, b), begin)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, c, begin); len(got) != len(want) {
			t.Fatalf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func BenchmarkExportImport(b *testing.B) {
	a := open(b, trust.Default())
	const reports = 20_000
	for i := range reports {
		voice{t: b, l: a, at: begin}.say(Spam, fmt.Sprint("r", i%500), message(i, i))
	}
	for b.Loop() {
		data := exported(b, a)
		c := open(b, trust.Default())
		imported(b, c, from(data, begin))
		b.ReportMetric(float64(len(data))/reports, "B/report")
	}
	b.ReportMetric(reports*float64(b.N)/b.Elapsed().Seconds(), "reports/s")
}
