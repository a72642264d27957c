package clock

import "time"

const (
	// hearAll is how long after a start other sites cannot confirm a jump: the first one to be
	// heard must not decide alone.
	hearAll = time.Minute
	// maxWords bounds the sites whose times are remembered.
	maxWords = 1024
)

// word is the latest time in the records of another site.
type word struct {
	made time.Time
	at   time.Duration // when it arrived, by the monotonic clock
}

// words are the times of other sites. A single site could lie: what expires by its word is lost.
// Sites that were heard before a jump contradict it, until they are heard again or the jump is
// believed anyway.
type words map[string]word

// add takes a site's word, unless that is from an older record than the last one.
func (w *words) add(site string, heard word) {
	if *w == nil {
		*w = make(words)
	}
	if last, ok := (*w)[site]; ok && !heard.made.After(last.made) && heard.at-last.at < ConfirmAfter {
		return
	}
	if _, ok := (*w)[site]; !ok && len(*w) >= maxWords {
		w.forgetOldest()
	}
	(*w)[site] = heard
}

func (w *words) forgetOldest() {
	oldest, least := "", time.Duration(0)
	for site, heard := range *w {
		if oldest == "" || heard.at < least {
			oldest, least = site, heard.at
		}
	}
	delete(*w, oldest)
}

// confirm reports whether more sites have the time of the wall clock than the database's.
func (w words) confirm(wall, now time.Time, at time.Duration) bool {
	sites := 0
	for _, heard := range w {
		passed := at - heard.at
		if passed >= ConfirmAfter {
			continue
		}
		there := heard.made.Add(passed)
		switch fromWall, fromNow := there.Sub(wall).Abs(), there.Sub(now).Abs(); {
		case fromWall <= MaxSkew && fromWall < fromNow:
			sites++
		case fromNow <= MaxSkew:
			sites--
		}
	}
	return sites > 0
}
