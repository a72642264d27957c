package server

import (
	"net/http"
	"os/user"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// A session of the page has the rights that its user has now: it loses those of the group when its
// user leaves the group, although the process that asked for the link had it. A process that has the
// group in another way keeps it.
func TestSessionLosesGroup(t *testing.T) {
	groups := map[string][]string{"1000": {"4", "100"}, "1001": {"4"}}
	access := NewAccess(AccessOptions{Group: "spambloom", GID: 100, DaemonUID: 100})
	access.names.Lookup = lookupUser
	access.names.Groups = func(u *user.User) ([]string, error) { return groups[u.Uid], nil }
	sessions := map[string]desk.Origin{}
	db := desktest.OpenDB(t)
	defer db.Close()
	h := NewHandler(desk.New(db, desktest.OpenLedger(t, trust.Default()), desk.Options{}), HandlerOptions{
		Decide: desktest.Decide, Access: access,
		Link: func(name string, origin desk.Origin) string { sessions[name] = origin; return "/" },
	})
	for _, uid := range []int{1000, 1001} {
		if status, detail := askAs(h, process(uid, 4, 100), "GET", "/v1/web", ""); status != http.StatusOK {
			t.Fatal(status, detail)
		}
	}
	body := asJSON(t, api.NewRequest(desktest.Set("body", "text")))
	report := func(name string, want int) {
		t.Helper()
		if status, detail := askAs(h, sessions[name], "POST", "/v1/report", body); status != want {
			t.Errorf("session of %s: %d %s, want %d", name, status, detail, want)
		}
	}
	report("anna", http.StatusOK)
	report("bob", http.StatusOK)
	groups["1000"] = []string{"4"}
	report("anna", http.StatusForbidden)
	report("bob", http.StatusOK)
}
