package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// idsHelp is the help of the verbs that take a message's ID in place of the message.
const idsHelp = `An ID is one that headers and logs show (text:26409118f620fc3f), a whole X-Spambloom
header line, or the MTA's queue id. Only administrators may use it.`

var (
	headerLine = regexp.MustCompile(`(?is)^\s*X-Spambloom\s*:`)
	headerID   = regexp.MustCompile(`\bid=([a-z]+:[0-9a-f]{16})\b`)

	// queueID matches what Postfix (short and long) and Sendmail use.
	queueID = regexp.MustCompile(`^[0-9A-Za-z]*[0-9][0-9A-Za-z]*$`)
)

// The lengths of queue ids, in bytes.
const shortestQueueID, longestQueueID = 6, 24

// errUnknownQueueID is wrapped for a queue id of no message that the daemon remembers.
var errUnknownQueueID = errors.New("no message with this queue id was judged")

// errNoID is wrapped for a header line without an id, such as that of a skipped message.
var errNoID = errors.New("the header has no id")

// idOf reads an argument that names a message by an ID. isID is false for a file.
func idOf(arg string) (q api.LookupRequest, isID bool, err error) {
	q.Signatures = []api.Signature{}
	if headerLine.MatchString(arg) {
		found := headerID.FindStringSubmatch(arg)
		if found == nil {
			return q, true, &usageError{fmt.Errorf("%.60q: %w", arg, errNoID)}
		}
		q.ID = found[1]
		return q, true, nil
	}
	if _, err := os.Lstat(arg); err == nil {
		return q, false, nil
	}
	if _, _, err := signature.ParseID(strings.ToLower(arg)); err == nil {
		q.ID = strings.ToLower(arg)
		return q, true, nil
	}
	if len(arg) >= shortestQueueID && len(arg) <= longestQueueID && queueID.MatchString(arg) {
		q.QueueID = arg
		return q, true, nil
	}
	return q, false, nil
}

// idsOf reads arguments that are all IDs. It returns none if they are files.
func idsOf(args []string) ([]api.LookupRequest, error) {
	var ids []api.LookupRequest
	for _, arg := range args {
		q, isID, err := idOf(arg)
		if err != nil {
			return nil, err
		}
		if isID {
			ids = append(ids, q)
		}
	}
	if len(ids) > 0 && len(ids) < len(args) {
		return nil, &usageError{errors.New("give FILEs or IDs, not both at once")}
	}
	return ids, nil
}

// looked is what `explain --json` prints for an ID.
type looked struct {
	ID string `json:"of"` // the argument
	api.Lookup
}

// explainIDs prints what is known of messages without having them.
func (c *cli) explainIDs(ctx context.Context, args []string, ids []api.LookupRequest, asJSON bool) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	for i, q := range ids {
		known, err := client.Post(ctx, daemon, v1.Lookup, q)
		if err == nil && known.Explanation == nil && q.QueueID != "" {
			err = fmt.Errorf("%w since %s", errUnknownQueueID, instant(known.Since))
		}
		if err != nil {
			return idFault(args[i], q, err)
		}
		if err := c.printEither(asJSON, looked{args[i], known}, lookupText(nameOf(q), known)); err != nil {
			return err
		}
	}
	return nil
}

// idError is an error about a message that is named by an ID.
type idError struct{ error }

func (e *idError) Unwrap() error { return e.error }

// idFault returns the error for an ID. What looks like a queue id was more likely meant as
// a file, if it is unknown or the caller may not ask for it.
func idFault(arg string, q api.LookupRequest, err error) error {
	var problem *api.Problem
	mayBeFile := q.QueueID != "" && (errors.Is(err, errUnknownQueueID) ||
		errors.As(err, &problem) && (problem.Status == http.StatusForbidden || problem.Status == http.StatusUnprocessableEntity))
	if !mayBeFile {
		return &idError{fmt.Errorf("%s: %w", nameOf(q), err)}
	}
	return &inputError{fmt.Errorf("%s: no file of this name, and as a queue id: %v", arg, err)}
}

func nameOf(q api.LookupRequest) string {
	if q.ID != "" {
		return q.ID
	}
	return q.QueueID
}

// lookupText formats what is known of a message for a terminal.
func lookupText(name string, known api.Lookup) string {
	var b strings.Builder
	if known.Explanation == nil {
		fmt.Fprintf(&b, "%s: not known\n", name)
	} else {
		b.WriteString(explanationText(name, explanation{Explanation: *known.Explanation}))
	}
	b.WriteString(columns(func(table io.Writer) {
		for _, r := range known.Reports {
			verb := "reported"
			if r.Action == "revoke" {
				verb = "revoked"
			}
			fmt.Fprintf(table, "  %s\t%s\tby %s\t%s\t%s\n", verb, instant(r.At), cmp.Or(r.Reporter, hiddenReporter), r.Class, r.State)
		}
		for _, j := range known.Judged {
			verdict := j.Verdict
			if j.Spared != "" {
				verdict += ", spared: " + j.Spared
			}
			fmt.Fprintf(table, "  judged\t%s\tqueue id %s\t%s\n", instant(j.At), cmp.Or(j.QueueID, "-"), verdict)
		}
	}))
	for _, what := range known.Unknown {
		fmt.Fprintf(&b, "  not known: %s\n", what)
	}
	return b.String()
}

// revokeIDs revokes messages that are named by IDs.
func (c *cli) revokeIDs(ctx context.Context, args []string, ids []api.LookupRequest, flags reportFlags) error {
	if err := flags.check(); err != nil {
		return &usageError{err}
	}
	if flags.dryRun || flags.attached || flags.skip > 0 {
		return &usageError{errors.New("--dry-run, --attached and --skip are for FILEs, not for IDs")}
	}
	if err := c.confirmedIDs(args, flags.yes, questions["revoke"]); err != nil {
		return err
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	count, finish := c.counting(len(ids))
	defer finish()
	for i, q := range ids {
		q.Reporter = flags.reporter
		receipt, err := client.Post(ctx, daemon, v1.RevokeID, q)
		switch {
		case err != nil && len(ids) > 1:
			return &stoppedError{error: idFault(args[i], q, err), name: nameOf(q), count: i, done: "revoked"}
		case err != nil:
			return idFault(args[i], q, err)
		}
		count(outcomeOf(parcel{receipt: receipt}))
		if err := c.showReceipt(nameOf(q), parcel{receipt: receipt}); err != nil {
			return err
		}
	}
	return nil
}
