package commonness_test

import (
	"testing"

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
	s.Expire()
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
