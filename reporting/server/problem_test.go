package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Refusals of the desk have a status of their own, and keep their sentence.
func TestProblemOf(t *testing.T) {
	for err, status := range map[error]int{
		fmt.Errorf("%w: mallory", desk.ErrTooMany):                                  http.StatusTooManyRequests,
		fmt.Errorf("%w %q", desk.ErrNoReporter, "nobody"):                           http.StatusUnprocessableEntity,
		fmt.Errorf("%w: mallory", desk.ErrRevokedOften):                             http.StatusConflict,
		fmt.Errorf("mallory has taken the 25 %% of all: %w", ledger.ErrPeriodShare): http.StatusTooManyRequests,
	} {
		if p := problemOf(err); p.Status != status || p.Detail != err.Error() {
			t.Errorf("%v is answered %d %s", err, p.Status, p.Detail)
		}
	}
}

// A change of a contested message for which there is no room is refused, and not put off: in the
// queue of a command it would keep all other reports of its reporter waiting until the next period.
func TestContestedIsNotPutOff(t *testing.T) {
	for err, status := range map[error]int{bloomdb.ErrContested: http.StatusConflict, bloomdb.ErrFull: http.StatusServiceUnavailable} {
		if p := problemOf(fmt.Errorf("list: %w", err)); p.Status != status {
			t.Errorf("%v is answered %d %s", err, p.Status, p.Detail)
		}
	}
}
