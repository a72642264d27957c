package css_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/page/css"
)

// For the numbers that people write, the result is that of strconv.ParseFloat.
func TestNumberAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[+-]?([0-9]{1,9}\.?|[0-9]{0,6}\.[0-9]{1,9})([eE][+-]?[0-2]?[0-9])?`).Draw(t, "number")
		n, ok := css.Number(s)
		want, err := strconv.ParseFloat(s, 64)
		if !ok || err != nil || math.Abs(n-want) > 1e-15*math.Abs(want) {
			t.Errorf("%q is %v (%v), want %v (%v)", s, n, ok, want, err)
		}
	})
	for _, s := range []string{"0.3", ".7", "2.55", "-9999", "12.345678", "1e3", "5.", "+0.01", "99.99"} {
		n, ok := css.Number(s)
		if want, _ := strconv.ParseFloat(s, 64); !ok || n != want {
			t.Errorf("%q is %v, want %v to the last bit", s, n, want)
		}
	}
}

// A number that is too large is a large one, as in a browser, and what is none is none.
func TestNumberAtItsEnds(t *testing.T) {
	most := float64(math.MaxFloat32)
	for s, want := range map[string]float64{
		"1e309": most, "-1e309": -most, "9e308": most, "1e99999999999999999999": most, strings.Repeat("9", 1000): most,
		"1e-323": 0, "1e-99999999999999999999": 0, "0e999": 0, "0." + strings.Repeat("0", 400) + "1": 0,
		"0." + strings.Repeat("0", 1100) + "1e1101": 1, "1" + strings.Repeat("0", 1100) + "e-1100": 1,
		"1" + strings.Repeat("0", 30) + "e-30": 1, strings.Repeat("0", 500) + "7": 7, "0.1" + strings.Repeat("0", 500): 0.1,
	} {
		if n, ok := css.Number(s); !ok || math.Abs(n-want) > 1e-15*math.Abs(want)+1e-300 {
			t.Errorf("%.40q is %v (%v), want %v", s, n, ok, want)
		}
	}
	for _, s := range []string{"", "-", ".", "e5", "1e", "1e+", "--1", "1.2.3", "inf", "nan", "0x10", "1_0", "1e5x", "1 "} {
		if n, ok := css.Number(s); ok {
			t.Errorf("%q is %v, want none", s, n)
		}
	}
}

// BenchmarkNumber reads numbers that leave each fast way of strconv.ParseFloat beside a usual one.
func BenchmarkNumber(b *testing.B) {
	for _, s := range []string{"987", "9e308", "1e-323", "9007199254740993"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				css.Number(s)
			}
		})
	}
}
