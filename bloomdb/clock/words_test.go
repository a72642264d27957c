package clock_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
)

// jumping is a keeper whose wall clock jumps ahead. The other sites stay where they are.
type jumping struct {
	*clock.Keeper
	right time.Time
	off   time.Duration
}

func newJumping() *jumping {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j := &jumping{right: start}
	j.Keeper = clock.New(func() time.Time { return j.right.Add(j.off) }, func() time.Duration { return j.right.Sub(start) }, slog.New(slog.DiscardHandler))
	return j
}

// hear takes records that the sites make now, by a clock that is off.
func (j *jumping) hear(off time.Duration, sites ...string) {
	for _, site := range sites {
		j.right = j.right.Add(time.Second)
		j.Witness(site, j.right.Add(off))
	}
}

func (j *jumping) expect(t *testing.T, what string, doubted bool) {
	t.Helper()
	j.Now()
	if got := j.Status() != nil; got != doubted {
		t.Errorf("%s: doubted %v, want %v", what, got, doubted)
	}
}

const month = 30 * 24 * time.Hour

// A member that knows of a site's fast clock cannot make it expire everything: the other sites
// contradict it, also those that an attack on Redis has silenced for hours.
func TestLoneSiteConfirmsNothing(t *testing.T) {
	j := newJumping()
	j.hear(0, "honest", "liar")
	j.right = j.right.Add(10 * time.Hour)
	j.off = month
	j.hear(month, "liar", "liar", "liar")
	j.expect(t, "the other site was heard before", true)
	j.hear(0, "second", "third")
	j.hear(month, "liar", "accomplice")
	j.expect(t, "two against three", true)
	j.off = 0
	j.expect(t, "the clock is right again", false)
}

// The clock was behind. The sites are heard again one after the other, and more than half of them
// confirm the jump, also if one is silent from now on.
func TestMostSitesConfirm(t *testing.T) {
	j := newJumping()
	j.hear(0, "a", "b", "c")
	j.right = j.right.Add(time.Hour)
	j.off = month
	j.hear(month, "a")
	j.expect(t, "one of three", true)
	j.hear(-month, "a") // an old record that waited in a stream
	j.hear(month, "b")
	j.expect(t, "two of three", false)
}

// A federation of two sites has one witness.
func TestOnlyOtherSiteConfirms(t *testing.T) {
	j := newJumping()
	j.hear(0, "other")
	j.right = j.right.Add(time.Hour)
	j.off = month
	j.hear(month, "other")
	j.expect(t, "the other site has jumped too", false)
}

// After a start, nobody has been heard: the first site does not decide.
func TestFirstSiteAfterStart(t *testing.T) {
	j := newJumping()
	j.off = month
	j.hear(month, "liar")
	j.expect(t, "a second after the start", true)
	j.hear(0, "honest")
	j.right = j.right.Add(time.Hour)
	j.hear(month, "liar")
	j.expect(t, "an hour after it", true)
	j.hear(month, "honest")
	j.expect(t, "both", false)
}

// A site's clock was ahead once, and someone without a key has kept a record of that time. Repeated, it does
// not replace what the site says now.
func TestFutureRecordRepeated(t *testing.T) {
	for _, ahead := range []time.Duration{2 * month, month + 2*time.Hour, month / 2, 2 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			j := newJumping()
			kept := j.right.Add(10*time.Hour + ahead)
			j.hear(0, "honest", "liar")
			j.right = j.right.Add(10 * time.Hour)
			j.off = month
			j.Now()
			j.Witness("honest", kept)
			for range 3 {
				j.hear(0, "honest")
				j.hear(month, "liar")
			}
			j.expect(t, "one against one", true)
			j.hear(month, "honest", "liar")
			j.expect(t, "the honest site has this time now", false)
		})
	}
}

// A holder of the federation key has any number of names, which take no more memory than those of
// sites that are followed.
func TestManyWitnesses(t *testing.T) {
	j := newJumping()
	var before, after []string
	for i := range 3000 {
		before, after = append(before, fmt.Sprint("a", i)), append(after, fmt.Sprint("b", i))
	}
	j.hear(0, before...)
	j.off = month
	j.hear(month, after[:400]...)
	j.expect(t, "400 of 1,024", true)
	j.hear(month, after...)
	j.expect(t, "the latest 1,024", false)
}
