package page

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk"
)

// Users who together take all links and sessions do not end those of root.
func TestUsersEndNoSessionOfRoot(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := &Sessions{Now: func() time.Time { now = now.Add(time.Millisecond); return now }}
	user := func(uid int) desk.Origin { return desk.Origin{UID: uid, Known: true} }
	flood := func() (links []string) {
		for i := range 4 * maxOpen {
			links = append(links, s.NewLink(fmt.Sprint("uid:", 100_000+i/4), user(100_000+i/4)))
		}
		return links
	}
	link := s.NewLink("root", user(0))
	flood()
	r := httptest.NewRequest("GET", "/enter", nil)
	cookie, ok := s.enter(link, r)
	if !ok {
		t.Fatal("the link of root was ended by others")
	}
	for range 4 {
		for _, link := range flood() {
			s.enter(link, httptest.NewRequest("GET", "/enter", nil))
		}
	}
	r.AddCookie(cookie)
	if s.of(r) == nil {
		t.Error("the session of root was ended by others")
	}
	if len(s.links) > maxOpen+maxOfUser || len(s.open) > maxOpen+maxOfUser {
		t.Errorf("%d links and %d sessions", len(s.links), len(s.open))
	}
}
