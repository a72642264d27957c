package batch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// Total counts the outcomes of a change of several messages.
type Total struct {
	messages int
	Outcomes map[string]int // the number of messages with each outcome
	refused  map[string]int // by reason
}

// NewTotal returns a total of no messages.
func NewTotal() *Total { return &Total{Outcomes: map[string]int{}, refused: map[string]int{}} }

// Add counts the outcome of one message, or why it was refused. An error that stops the
// work is neither.
func (t *Total) Add(err error, outcome string) {
	switch {
	case err == nil:
		t.Outcomes[outcome]++
	case ConcernsOne(err):
		t.refused[reasonOf(err)]++
	default:
		return
	}
	t.messages++
}

// ownReasons are the errors about one message that this program finds itself.
var ownReasons = []error{bloomdb.ErrNothing, signature.ErrNoHeader, mailbox.ErrEmpty}

// reasonOf returns the reason for a refusal, without names of files.
func reasonOf(err error) string {
	for _, reason := range ownReasons {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	var problem *api.Problem
	var refused *Refusal
	switch {
	case errors.As(err, &problem):
		return problem.Detail
	case errors.As(err, &refused):
		return refused.Reason
	}
	return "cannot be read"
}

// Describe returns the total in one line.
func (t *Total) Describe() string {
	parts, sum := numbers(t.Outcomes)
	if reasons, refused := numbers(t.refused); refused > 0 || sum == 0 {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%d refused (%s)", refused, strings.Join(reasons, ", ")), " ()"))
	}
	return fmt.Sprintf("%s: %s", format.Plural(t.messages, "message"), strings.Join(parts, ", "))
}

// numbers returns each word with its count, in the order of the words, and the sum.
func numbers(counts map[string]int) (list []string, sum int) {
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[word], word))
		sum += counts[word]
	}
	return list, sum
}

// Print prints the outcomes of many messages.
func (t *Total) Print(c *verb.CLI) {
	if t.messages > verb.Many {
		c.Notify("total", t.Describe())
	}
}
