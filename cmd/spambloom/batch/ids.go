package batch

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// IDsHelp is the help of the verbs that take a message's ID in place of the message.
const IDsHelp = `An ID is one that headers and logs show (text:26409118f620fc3f), a whole X-Spambloom
header line, or the MTA's queue id. Only administrators may use it.`

var (
	headerLine = regexp.MustCompile(`(?is)^\s*X-Spambloom\s*:`)
	headerID   = regexp.MustCompile(`\bid=([a-z]+:[0-9a-f]{16})\b`)

	// queueID matches what Postfix (short and long) and Sendmail use.
	queueID = regexp.MustCompile(`^[0-9A-Za-z]*[0-9][0-9A-Za-z]*$`)
)

// The lengths of queue ids, in bytes.
const shortestQueueID, longestQueueID = 6, 24

// ErrUnknownQueueID is wrapped for a queue id of no message that the daemon remembers.
var ErrUnknownQueueID = errors.New("no message with this queue id was judged")

// errNoID is wrapped for a header line without an id, such as that of a skipped message.
var errNoID = errors.New("the header has no id")

// idOf reads an argument that names a message by an ID. isID is false for a file, which is never one
// by the name of an id: anybody may put such a file into a folder that others write to.
func idOf(arg string) (q api.LookupRequest, isID bool, err error) {
	q.Signatures = []api.Signature{}
	if headerLine.MatchString(arg) {
		found := headerID.FindStringSubmatch(arg)
		if found == nil {
			return q, true, verb.UsageError(fmt.Errorf("%.60q: %w", arg, errNoID))
		}
		q.ID = found[1]
		return q, true, nil
	}
	if _, _, err := signature.ParseID(strings.ToLower(arg)); err == nil {
		q.ID = strings.ToLower(arg)
		return q, true, nil
	}
	if _, err := os.Lstat(arg); err == nil {
		return q, false, nil
	}
	if len(arg) >= shortestQueueID && len(arg) <= longestQueueID && queueID.MatchString(arg) {
		q.QueueID = arg
		return q, true, nil
	}
	return q, false, nil
}

// IDsOf reads arguments that are all IDs. It returns none if they are files.
func IDsOf(args []string) ([]api.LookupRequest, error) {
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
		return nil, verb.UsageError(errors.New("give FILEs or IDs, not both at once"))
	}
	return ids, nil
}

// IDFault returns the error for an ID. An argument that looks like a queue id was
// more likely meant as a file, if it is unknown or the caller may not ask for it.
func IDFault(arg string, q api.LookupRequest, err error) error {
	var problem *api.Problem
	mayBeFile := q.QueueID != "" && (errors.Is(err, ErrUnknownQueueID) ||
		errors.As(err, &problem) && (problem.Status == http.StatusForbidden || problem.Status == http.StatusUnprocessableEntity))
	if !mayBeFile {
		return &verb.RequestError{
			Err:     fmt.Errorf("%s: %w", NameOf(q), err),
			Unknown: "only mail that was reported here or judged lately is known by its id; use the message itself",
		}
	}
	return &verb.InputError{Err: fmt.Errorf("%s: no file of this name, and as a queue id: %v", arg, err)}
}

// NameOf returns the ID as the user gave it.
func NameOf(q api.LookupRequest) verb.MessageName {
	if q.ID != "" {
		return verb.MessageName(q.ID)
	}
	return verb.MessageName(q.QueueID)
}

// ConfirmedIDs asks for confirmation of a change of many messages that are named by ids.
func ConfirmedIDs(c *verb.CLI, ids []string, yes bool, question string) error {
	switch {
	case yes || len(ids) <= verb.Many:
		return nil
	case !verb.IsTerminal(c.In):
		return verb.UsageError(ErrManyNeedYes)
	}
	c.Notify("warning", fmt.Sprintf("%d ids", len(ids)))
	if !c.Ask(question) {
		return verb.Exit(verb.Declined)
	}
	return nil
}

// Counting shows the progress of a change of so many messages that are named by ids. done counts
// the outcome of one, and finish prints the total.
func Counting(c *verb.CLI, ids int) (done func(outcome string), finish func()) {
	c.Changes, c.Expected = true, ids
	bar := c.StartProgress()
	sum := NewTotal()
	done = func(outcome string) {
		bar.Add()
		sum.Add(nil, outcome)
	}
	return done, func() {
		bar.Finish()
		sum.Print(c)
	}
}
