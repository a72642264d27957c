package verb

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
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
		{Exit(Declined), 1},
		{UsageError(errors.New("unknown flag")), 64},
		{&PrintedError{Err: &InputError{Err: fmt.Errorf("a.eml: %w", mailbox.ErrEmpty)}}, 65},
		{fmt.Errorf("a.eml: %w", bloomdb.ErrNothing), 65},
		{problem(422), 65},
		{&PrintedError{Err: &InputError{Err: fs.ErrNotExist}}, 66},
		{&InputError{Err: fs.ErrPermission}, 66},
		{fmt.Errorf("%w on x: %w", client.ErrUnavailable, fs.ErrNotExist), 69},
		{problem(500), 74},
		{OutputError(errors.New("disk full")), 74},
		{ReadFault(errors.New("no key")), 65},
		{ReadFault(&fs.PathError{Err: fs.ErrNotExist}), 66},
		{&Fault{Code: CantCreate, Err: fs.ErrPermission}, 73},
		{problem(503), 75},
		{errors.New("unexpected EOF"), 75},
		{problem(400), 76},
		{problem(404), 76},
		{problem(403), 77},
		{&client.AccessError{Path: "x", Err: fs.ErrPermission}, 77},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// A failure whose text names the repair is not blamed on a full disk.
func TestHintOfDamage(t *testing.T) {
	for detail, want := range map[string]string{
		"journal: no space left on device": "free space on the disk of the daemon's state folder and run it again; a part may be in effect, and reporting a message twice does no harm",
		"ledger: run spambloomd --repair":  "nothing of this message was accepted",
	} {
		if hint := failureHint(api.NewProblem(http.StatusInternalServerError, "%s", detail)); hint != want {
			t.Errorf("%s: hint %q, want %q", detail, hint, want)
		}
	}
}

// A change of a contested message that has to wait is not blamed on the never-list.
func TestHintOfContested(t *testing.T) {
	contested := api.NewProblem(http.StatusConflict, "list: %v; it is kept", bloomdb.ErrContested)
	if hint := dataHint(contested); hint != "" {
		t.Errorf("hint %q", hint)
	}
	if hint := dataHint(api.NewProblem(http.StatusConflict, "%v", bloomdb.ErrNever)); !strings.Contains(hint, "never --list") {
		t.Errorf("hint %q", hint)
	}
}
