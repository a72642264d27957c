package status

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/reporting/overview"
)

// exchangeStatus is the printed part of the daemon's exchange with other sites. The
// names of its fields are those in the status of package exchange.
type exchangeStatus struct {
	Connected   bool           `json:"connected"`
	LastError   string         `json:"last_error"`
	LastErrorAt time.Time      `json:"last_error_at"`
	Sites       []followedSite `json:"sites"`

	MovedAside *movedStream `json:"moved_aside"` // nil: none was moved

	Refused map[string]int64 `json:"refused"` // records of unknown sites, by cause
}

// movedStream describes streams that another client wrote under this site's name.
type movedStream struct {
	Times int64     `json:"times"`
	At    time.Time `json:"at"`
	Tail  struct {
		Epoch uint64 `json:"epoch"`
		Seq   uint64 `json:"seq"`
	} `json:"tail"`
}

type followedSite struct {
	Site    string           `json:"site"`
	Heard   time.Time        `json:"heard"` // zero: never
	Lag     uint64           `json:"lag"`   // deltas
	Gaps    int64            `json:"gaps"`
	Refused map[string]int64 `json:"refused"` // deltas, by cause
}

// splitFacts separates the exchange from the status of the daemon's other parts. It
// returns nil if the daemon has no exchange, or one of another version.
func splitFacts(raw json.RawMessage) (*exchangeStatus, map[string]json.RawMessage) {
	var facts map[string]json.RawMessage
	if json.Unmarshal(raw, &facts) != nil {
		return nil, nil
	}
	var x *exchangeStatus
	if json.Unmarshal(facts["exchange"], &x) != nil {
		return nil, facts
	}
	delete(facts, "exchange")
	return x, facts
}

// lines prints the state of the connection and its last error. The error is marked as
// resolved while the connection is up.
func (x *exchangeStatus) lines(w io.Writer, now time.Time) {
	state := "not connected"
	if x.Connected {
		state = "connected"
	}
	fmt.Fprintf(w, "redis\t%s\n", state)
	if len(x.Refused) > 0 {
		fmt.Fprintf(w, "refused\t%s, from an unknown site\n", refusals(x.Refused))
	}
	if m := x.MovedAside; m != nil {
		fmt.Fprintf(w, "foreign stream\tmoved aside %d times, last %s, ended with %d-%d: another client writes to this site's stream\n",
			m.Times, overview.Ago(m.At, now), m.Tail.Epoch, m.Tail.Seq)
	}
	if x.LastError == "" {
		return
	}
	resolved := ""
	if x.Connected {
		resolved = " (resolved)"
	}
	fmt.Fprintf(w, "last redis error\t%s%s: %s\n", overview.Ago(x.LastErrorAt, now), resolved, link.Plain(x.LastError))
}

// table prints the lag of each other site.
func (x *exchangeStatus) table(w io.Writer, now time.Time) {
	table := format.NewTable(w)
	fmt.Fprintln(table, "SITE\tHEARD\tLAG\tGAPS\tREFUSED")
	for _, s := range x.Sites {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", s.Site, overview.Ago(s.Heard, now), s.Lag, s.Gaps, refusals(s.Refused))
	}
	table.Flush()
}

// refusals formats the numbers of refused records by cause.
func refusals(byCause map[string]int64) string {
	var list []string
	for _, cause := range slices.Sorted(maps.Keys(byCause)) {
		list = append(list, fmt.Sprintf("%d %s", byCause[cause], cause))
	}
	if list == nil {
		return "0"
	}
	return strings.Join(list, ", ")
}
