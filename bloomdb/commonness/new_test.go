package commonness_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
)

// A site is new until three senders have sent mail on three days, one of them two weeks ago, whatever
// is in it, all of them old: known for three calendar weeks, the first of which began on a Thursday.
// An archive ends that at once.
func TestIsNew(t *testing.T) {
	s := newSite()
	for day := range 28 {
		if isNew := s.IsNew(); isNew != (day < 18) {
			t.Errorf("day %d: new %v", day, isNew)
		}
		s.receive(uint64(1000+day), 1, 2, 3, 4)
		s.nextDay()
	}
	s.now = s.now.AddDate(0, 0, 5*7)
	s.expire()
	if !s.IsNew() {
		t.Error("a site is not new whose mail has all expired")
	}
	s = newSite()
	if s.archive(feature, 1, 2, 3, 4); s.IsNew() {
		t.Error("new although it was fed by an archive")
	}
	s = newSite()
	if s.settings.Reports.NoCommonness = true; s.IsNew() {
		t.Error("a site that does not learn is new")
	}
}

// Mail of a domain was reported if a report has the text of its latest mail, which was learned, or only
// noted because a report listed it.
func TestWasReported(t *testing.T) {
	s := newSite()
	s.Note(filter.Mix(9), "listed.example") // at a site that has learned nothing
	s.Reported(nil, filter.Mix(9))
	s.receive(feature, 1, 2)
	s.Reported(nil, filter.Mix(1))
	for from, want := range map[string]bool{"listed.example": true, "sender1.example": true, "sender2.example": false, "other.example": false} {
		if got := s.WasReported(from); got != want {
			t.Errorf("%s: %v", from, got)
		}
	}
}

// A spammer whose mail this site knows sends his spam, and then other mail, from domains that he throws
// away, so that reports of the spam are held against those only: the spam itself from twenty domains, or
// other texts, whose digests he chooses. The report is held against all that are remembered, and a
// known sender is.
func TestThrowawayDomains(t *testing.T) {
	spam := func(s *site, sender string, text uint64) {
		s.Learn(commonness.Mail{Features: []uint64{feature}, Sender: sender, Message: text, At: s.now})
	}
	for name, cover := range map[string]func(s *site, n int){
		"the same text":                func(s *site, n int) { spam(s, fmt.Sprintf("away%d.example", n), 77) },
		"texts of a chosen digest":     func(s *site, n int) { spam(s, "away.example", 77+uint64(n)<<15) },
		"the same text that is listed": func(s *site, n int) { s.Note(77, fmt.Sprintf("away%d.example", n)) },
	} {
		for _, first := range []bool{true, false} { // the spammer's own mail comes first, or last
			s := newSite()
			for range 3 {
				spam(s, "known.example", 1)
				s.nextDay()
			}
			if !s.Knows("known.example") {
				t.Fatal("the sender is not known")
			}
			for n := range 20 {
				if first && n == 0 || !first && n == 19 {
					spam(s, "known.example", 77)
				}
				cover(s, n)
			}
			s.Reported([]uint64{feature}, 77)
			if !s.WasReported("known.example") || s.Knows("known.example") {
				t.Errorf("%s, first %v: the report is not held against the sender", name, first)
			}
		}
	}
}
