//go:build figures

package bloomdb_test

import (
	"strings"
	"testing"
)

// TestNewsletterFigures prints the table about newsletters of contrib/benchmarks.md: make
// bench-commonness.
func TestNewsletterFigures(t *testing.T) {
	t.Log("| shops of a service | words copied | learning | newsletters hit | without a proof of the sender | variations of phish caught |")
	for i := range 8 {
		shops, share := []int{2, 4}[i/4], []int{10, 30, 60, 90}[i%4]
		for _, isOff := range []bool{true, false} {
			o := imitate(t, imitation{isOff: isOff, shops: shops, shares: [8]int{4: share, share, share, share}})
			t.Logf("| %d | %d %% | %s | %d of %d | %d | %d of %d |", shops, share, map[bool]string{true: "off", false: "on"}[isOff], o.hit, o.letters, o.unproven, o.caught, o.phish)
		}
	}
}

// TestClickHostFigures prints what the list of mailing services (signature/links/wellknown.txt) changes
// where behaviour cannot tell them: at a site that is new, and for mail without a proof.
func TestClickHostFigures(t *testing.T) {
	t.Log("| phish from | words copied | click host | newsletters hit | without a proof of the sender | variations of phish caught |")
	for _, first := range []int{0, 4} {
		for _, share := range []int{5, 10, 15, 20, 25} {
			var shares [8]int
			for n := first; n < len(shares); n++ {
				shares[n] = share
			}
			for _, host := range []string{"", "list-manage.com"} {
				o := imitate(t, imitation{shops: 4, shares: shares, host: host})
				t.Logf("| week %d | %d %% | %s | %d of %d | %d | %d of %d |", first+1, share, strings.TrimSpace("not listed "+host), o.hit, o.letters, o.unproven, o.caught, o.phish)
			}
		}
	}
}

// TestNewSiteLetterFigures prints how many newsletters are hit where phish is reported from the first
// week on: at a site that learns, and so is new at first, and at one that does not.
func TestNewSiteLetterFigures(t *testing.T) {
	t.Log("| words copied | click host | newsletters hit, learning off | on | without a proof of the sender | variations of phish caught |")
	for _, share := range []int{10, 20, 25, 50, 75, 90} {
		for _, host := range []string{"", "list-manage.com"} {
			var shares [8]int
			for n := range shares {
				shares[n] = share
			}
			off := imitate(t, imitation{isOff: true, shops: 4, shares: shares, host: host})
			o := imitate(t, imitation{shops: 4, shares: shares, host: host})
			t.Logf("| %d %% | %s | %d of %d | %d | %d | %d of %d |", share, strings.TrimSpace("not listed "+host), off.hit, off.letters, o.hit, o.unproven, o.caught, o.phish)
		}
	}
}
