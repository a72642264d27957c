package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
)

// Nobody reports in the name in which administrators settle: what it says decides alone.
func TestNobodySpeaksForSettler(t *testing.T) {
	h, _ := accessOf(t, &AccessOptions{DaemonUID: 100, Delegates: []string{"vmail"}})
	const message = `{"signatures": [{"kind": "text", "digest": "%s"}], "reporter": %q}`
	digest := strings.Repeat("ab", 32)
	for _, from := range []desk.Origin{process(200), {Client: "store1"}, process(0)} {
		for _, name := range []string{"settled:", "SETTLED:"} {
			for _, path := range []string{"/v1/report", "/v1/revoke"} {
				if status, detail := askAs(h, from, "POST", path, fmt.Sprintf(message, digest, name)); status != 403 {
					t.Errorf("%v, %s as %q: %d %s", from, path, name, status, detail)
				}
			}
		}
	}
}

// Nor has that name a weight.
func TestSettlerHasNoWeight(t *testing.T) {
	h, _ := accessOf(t, &AccessOptions{DaemonUID: 100})
	for _, name := range []string{"settled:", "Settled:"} {
		if status, detail := askAs(h, process(0), "POST", "/v1/reporters/weight", fmt.Sprintf(`{"name": %q, "weight": 0}`, name)); status != 400 {
			t.Errorf("%q: %d %s", name, status, detail)
		}
	}
}
