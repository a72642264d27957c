package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// total counts the outcomes of a change of several messages.
type total struct {
	messages int
	outcomes map[string]int
	refused  map[string]int // by reason
}

func newTotal() *total { return &total{outcomes: map[string]int{}, refused: map[string]int{}} }

// add counts the outcome of one message, or why it was refused. An error that stops the
// work is neither.
func (t *total) add(err error, outcome string) {
	switch {
	case err == nil:
		t.outcomes[outcome]++
	case concernsOne(err):
		t.refused[reasonOf(err)]++
	default:
		return
	}
	t.messages++
}

// outcomeOf names the outcome of a report or a revocation.
func outcomeOf(p parcel) string {
	switch {
	case p.queued != nil:
		return "queued"
	case p.receipt.Held:
		return "held"
	case p.receipt.Idle:
		return "with nothing to revoke"
	case p.receipt.Known:
		return "known before"
	}
	return "accepted"
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
	var refused *refusal
	switch {
	case errors.As(err, &problem):
		return problem.Detail
	case errors.As(err, &refused):
		return refused.reason
	}
	return "cannot be read"
}

// describe returns the total in one line.
func (t *total) describe() string {
	parts, sum := numbers(t.outcomes)
	if reasons, refused := numbers(t.refused); refused > 0 || sum == 0 {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%d refused (%s)", refused, strings.Join(reasons, ", ")), " ()"))
	}
	return fmt.Sprintf("%s: %s", plural(t.messages, "message"), strings.Join(parts, ", "))
}

// numbers returns each word with its count, in the order of the words, and the sum.
func numbers(counts map[string]int) (list []string, sum int) {
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[word], word))
		sum += counts[word]
	}
	return list, sum
}

// print prints the outcomes of many messages.
func (t *total) print(c *cli) {
	if t.messages > many {
		c.notify("total", t.describe())
	}
}
