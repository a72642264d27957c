package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
)

func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		t    time.Time
		want string
	}{
		{time.Time{}, "never"},
		{now.Add(time.Second), "0 s ago"}, // a clock that was set back
		{now.Add(-3 * time.Second), "3 s ago"},
		{now.Add(-59*time.Minute - 59*time.Second), "59 min ago"},
		{now.Add(-47 * time.Hour), "47 h ago"},
		{now.Add(-50 * time.Hour), "2 days ago"},
	} {
		if got := overview.Ago(c.t, now); got != c.want {
			t.Errorf("overview.Ago(%v) = %q, want %q", c.t, got, c.want)
		}
	}
}

// The status of the exchange becomes lines and a table; an unknown form of it, from
// another version, is still shown.
func TestStatusTextExchange(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const sites = `"sites":[{"site":"mx2","heard":"2026-11-21T11:59:57Z","lag":4,"gaps":1,"refused":{"invalid":2,"full":7}},{"site":"mx3","lag":0,"gaps":0}]`
	for _, c := range []struct {
		name, exchange string
		want, not      []string
	}{
		{"connected", `{"connected":true,"refused":{"stranger":5},"last_error":"dial: refused","last_error_at":"2026-11-21T10:00:00Z",` + sites + `}`,
			[]string{"\nredis             connected\nrefused           5 stranger, from an unknown site\n", "\nlast redis error  2 h ago (resolved): dial: refused\n",
				"\nSITE  HEARD    LAG  GAPS  REFUSED\nmx2   3 s ago  4    1     7 full, 2 invalid\nmx3   never    0    0     0\n"},
			[]string{"sites", "lag"}},
		{"not connected", `{"connected":false,"last_error":"dial: refused","last_error_at":"2026-11-21T11:59:00Z","sites":[]}`,
			[]string{"\nredis             not connected\n", "1 min ago: dial: refused\n"}, []string{"(resolved)", "connected at"}},
		{"moved aside", `{"connected":true,"moved_aside":{"times":3,"at":"2026-11-21T11:59:00Z","tail":{"epoch":18446744073709551613,"seq":1}},"sites":[]}`,
			[]string{"\nforeign stream   moved aside 3 times, last 1 min ago, ended with 18446744073709551613-1: another client writes to this site's stream\n"}, []string{"last redis error"}},
		{"no exchange", `null`, nil, []string{"redis", "REFUSED"}},
		{"another form", `{"sites":7}`, []string{"\nexchange sites   7\n"}, []string{"REFUSED", "redis"}},
	} {
		s := api.Status{Daemon: json.RawMessage(`{"milter":["inet:8899@127.0.0.1"],"exchange":` + c.exchange + `}`)}
		got := statusText(s, now, withAll)
		for _, want := range append(c.want, "inet:8899@127.0.0.1") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", c.name, not, got)
			}
		}
	}
}
