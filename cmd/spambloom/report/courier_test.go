package report

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

// The daemon's answer decides whether a report is queued, a queued one is dropped, or
// the command fails.
func TestWhatIsQueued(t *testing.T) {
	away, refused, neither := []int{408, 429, 500, 503}, []int{400, 403, 409, 413, 422}, []int{401, 404, 405}
	for _, c := range []struct {
		statuses      []int
		away, refusal bool
	}{{away, true, false}, {refused, false, true}, {neither, false, false}} {
		for _, status := range c.statuses {
			err := fmt.Errorf("a.eml: %w", &api.Problem{Status: status})
			if isAway(err) != c.away || isRefusal(err) != c.refusal {
				t.Errorf("%d: away %v, refused %v", status, isAway(err), isRefusal(err))
			}
		}
	}
	for err, want := range map[error]bool{
		fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrNotExist): true,
		errors.New("unexpected EOF"):                                     true,
		&client.AccessError{Path: "x", Err: fs.ErrPermission}:            false,
		fmt.Errorf("ask: %w", client.ErrUntrusted):                       false,
		fmt.Errorf("ask: %w", client.ErrProtocol):                        false,
		verb.UsageError(verb.Exit(verb.Declined)):                        false,
	} {
		if isAway(err) != want || isRefusal(err) {
			t.Errorf("%v: away %v, refused %v", err, isAway(err), isRefusal(err))
		}
	}
}
