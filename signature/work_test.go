package signature_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/work"
)

// stepsOf returns the steps of signing a message.
func stepsOf(m signature.Message) int {
	_, steps := signature.ComputeSteps(m, nil, 0)
	return steps.Total()
}

// everyHostile returns each hostile message of these tests, by name.
func everyHostile(tb testing.TB) map[string][]byte {
	all := make(map[string][]byte)
	for _, h := range hostile {
		all[h.name] = []byte(h.make())
	}
	for _, h := range hostileParts {
		all["part: "+h.name] = []byte(h.make(tb))
	}
	for name, r := range hostileRecipes(tb) {
		all["recipe: "+name] = r.message(100 / scale)
	}
	for _, h := range bites(tb) {
		all["limit: "+h.name] = []byte(h.raw)
	}
	return all
}

// textRecipes returns the recipes without an archive or image.
func textRecipes(tb testing.TB) map[string]recipe {
	recipes := hostileRecipes(tb)
	maps.DeleteFunc(recipes, func(_ string, r recipe) bool {
		return slices.ContainsFunc(r, func(one ingredient) bool { return one.file != "" })
	})
	return recipes
}

// The bound that FORMAT.md states.
const (
	boundOfMessage = 8 << 20
	boundOfByte    = 48
)

// Twice the text costs about twice the steps; up to a quarter more if a limit cuts one of
// them and not the other. A quadratic cost would be four times as high.
func TestWorkIsLinear(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for name, r := range textRecipes(t) {
		half, whole := stepsOf(signature.Parse(r.message(50/scale))), stepsOf(signature.Parse(r.message(100/scale)))
		if whole > 2*half+half/4+boundOfMessage/8 {
			t.Errorf("%s: %d steps, and %d for half of it", name, whole, half)
		}
	}
}

// A message that is too expensive still signs, so it can be reported: by the part that
// was read, and by its body.
func TestWorkSigns(t *testing.T) {
	hosts := bytes.Replace(hostileRecipes(t)["longer-hosts"].message(100), []byte("\n\n"), []byte("\n\n"+prose), 1)
	if s := signature.Compute(signature.Parse(hosts)); kinds(s) != "body text" || s.Limits&work.LimitWork == 0 {
		t.Errorf("links that are too expensive: signed by %q with the limits %q", kinds(s), s.Limits.Names())
	}
	if s, _ := signature.ComputeSteps(signature.Parse([]byte("\n"+prose)), nil, 1<<40); kinds(s) != "body" || s.Limits != work.LimitWork || len(s.Counting) != 1 {
		t.Errorf("no budget at all: signed by %q, counted by %v, with the limits %q", kinds(s), s.Counting, s.Limits.Names())
	}
}

// All copies of a message spend the same: the one that a milter receives, with CRLF, and
// the one in a mailbox, with what servers add.
func TestWorkIsOfTheContent(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for name, r := range textRecipes(t) {
		raw := string(r.message(25 / scale))
		seen, kept := computeWork(raw), computeWork("Received: by a.example\nX-Added: x\n"+raw)
		if crlf := computeWork(strings.ReplaceAll(raw, "\n", "\r\n")); crlf != seen {
			t.Errorf("%s: with CRLF %+v, with LF %+v", name, crlf, seen)
		}
		if kept != seen {
			t.Errorf("%s: with a trace header %+v, without %+v", name, kept, seen)
		}
	}
}

// computeWork returns what the texts of a message spent, and what was granted to them.
func computeWork(raw string) (spent [2]int) {
	_, steps := signature.ComputeSteps(signature.Parse([]byte(raw)), nil, 0)
	spent[0], spent[1] = steps.OfTexts()
	return spent
}

// BenchmarkSteps reports how much CPU time a step of each hostile message takes. If a
// step takes much more than the others, work is not counted.
func BenchmarkSteps(b *testing.B) {
	all := everyHostile(b)
	var rates []float64
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, steps, rate := signature.Parse(all[name]), 0, 0.0
		b.Run(name, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				steps = stepsOf(m)
			}
			took := float64(cpu()-before) / float64(b.N)
			rate = took / float64(steps)
			b.ReportMetric(rate, "ns/step")
			b.ReportMetric(took/float64(len(all[name])), "ns/byte")
			b.ReportMetric(float64(steps)/float64(len(all[name])), "steps/byte")
		})
		if steps > 200_000 { // in small messages, the constant cost outweighs the steps
			rates = append(rates, rate)
		}
	}
	if len(rates) == 0 { // none was selected
		return
	}
	slices.Sort(rates)
	b.Run("all of some size", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(rates[len(rates)/2], "median-ns/step")
		b.ReportMetric(rates[len(rates)-1], "most-ns/step")
	})
}
