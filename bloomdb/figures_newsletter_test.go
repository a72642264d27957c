//go:build figures

package bloomdb_test

import "testing"

// TestNewsletterFigures prints the table about newsletters of contrib/benchmarks.md: make
// bench-commonness.
func TestNewsletterFigures(t *testing.T) {
	t.Log("| shops of a service | words copied | learning | newsletters hit | without a proof of the sender | variations of phish caught |")
	for i := range 8 {
		shops, share := []int{2, 4}[i/4], []int{10, 30, 60, 90}[i%4]
		for _, isOff := range []bool{true, false} {
			o := imitate(t, isOff, shops, [4]int{share, share, share, share})
			t.Logf("| %d | %d %% | %s | %d of %d | %d | %d of %d |", shops, share, map[bool]string{true: "off", false: "on"}[isOff], o.hit, o.letters, o.unproven, o.caught, o.phish)
		}
	}
}
