package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// The names in the reason stand in the line a second time, each as a value of its own,
// by which a log that hides people finds them.
func TestRefusalNamesPeopleApart(t *testing.T) {
	h, log := accessOf(t, &AccessOptions{Group: "spambloom", GID: 100, DaemonUID: 100})
	named := strings.Replace(asJSON(t, api.NewRequest(desktest.Set("body", "text"))), "{", `{"reporter":"carol",`, 1)
	if status, detail := askAs(h, process(1000, 4, 100), "POST", "/v1/report", named); status != http.StatusForbidden {
		t.Fatal(status, detail)
	}
	if !strings.Contains(log.String(), `by=anna as=carol reason="anna may not speak for carol: `) {
		t.Error(log.String())
	}
}
