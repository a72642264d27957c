package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

func TestExitCode(t *testing.T) {
	problem := func(status int) error { return fmt.Errorf("a.eml: %w", &api.Problem{Status: status}) }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{verb.Exit(verb.Declined), 1},
		{verb.UsageError(errors.New("unknown flag")), 64},
		{&verb.PrintedError{Err: &verb.InputError{Err: fmt.Errorf("a.eml: %w", mailbox.ErrEmpty)}}, 65},
		{fmt.Errorf("a.eml: %w", bloomdb.ErrNothing), 65},
		{problem(422), 65},
		{&verb.PrintedError{Err: &verb.InputError{Err: fs.ErrNotExist}}, 66},
		{&verb.InputError{Err: fs.ErrPermission}, 66},
		{fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrNotExist), 69},
		{problem(500), 74},
		{verb.OutputError(errors.New("disk full")), 74},
		{verb.ReadFault(errors.New("no key")), 65},
		{verb.ReadFault(&fs.PathError{Err: fs.ErrNotExist}), 66},
		{&verb.Fault{Code: verb.CantCreate, Err: fs.ErrPermission}, 73},
		{problem(503), 75},
		{errors.New("unexpected EOF"), 75},
		{problem(400), 76},
		{problem(404), 76},
		{problem(403), 77},
		{fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrPermission), 77},
	} {
		if got := verb.Code(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

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
		fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrNotExist):   true,
		errors.New("unexpected EOF"):                                       true,
		fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrPermission): false,
		fmt.Errorf("ask: %w", client.ErrUntrusted):                         false,
		fmt.Errorf("ask: %w", client.ErrProtocol):                          false,
		verb.UsageError(verb.Exit(verb.Declined)):                          false,
	} {
		if isAway(err) != want || isRefusal(err) {
			t.Errorf("%v: away %v, refused %v", err, isAway(err), isRefusal(err))
		}
	}
}
