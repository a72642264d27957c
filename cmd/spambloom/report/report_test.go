package report

import (
	"fmt"
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// The total has each outcome once, and each reason for a refusal.
func TestTotal(t *testing.T) {
	sum := batch.NewTotal()
	if got := sum.Describe(); got != "0 messages: 0 refused" {
		t.Error(got)
	}
	for _, p := range []parcel{
		{receipt: api.Receipt{Known: true}}, {}, {queued: client.ErrUnavailable}, {receipt: api.Receipt{Idle: true}}, {},
	} {
		sum.Add(nil, outcomeOf(p))
	}
	for _, err := range []error{
		fmt.Errorf("a.eml: %w", bloomdb.ErrNothing), fmt.Errorf("b.eml: %w", bloomdb.ErrNothing), fmt.Errorf("ls: %w", signature.ErrNoHeader),
		&verb.InputError{Err: os.ErrPermission}, fmt.Errorf("c.eml: %w", api.NewProblem(409, "the message is on the never-list")),
		batch.NewRefusal("", errNoSpam, ""), client.ErrUnavailable, // which stops the work
	} {
		sum.Add(err, "")
	}
	want := "11 messages: 2 accepted, 1 known before, 1 queued, 1 with nothing to revoke, 6 refused (1 cannot be read, 1 not an e-mail message: no header, " +
		"1 the feedback report declares the message not spam, 1 the message is on the never-list, 2 too little content to sign)"
	if got := sum.Describe(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
