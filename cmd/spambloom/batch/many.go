package batch

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// YesUsage is the help of --yes, for the verbs that ask.
const YesUsage = "do not ask, also if there are more than 20 messages"

// ForceUsage is the help of --force.
const ForceUsage = "also accept files that have no header of an e-mail message"

// AsksHelp is the help of the verbs that ask.
const AsksHelp = `For more than 20 messages the command asks on a terminal, and shows their number, folder
and dates, and how many of them were seen as wanted mail before. Without a terminal, and
for messages from standard input, --yes is required. A total is printed at the end.`

// ErrManyNeedYes is the error of a question about many messages that cannot be asked.
var ErrManyNeedYes = fmt.Errorf("more than %d messages, and the question cannot be asked: add --yes to confirm", verb.Many)

// Confirmed returns the messages of read, which yields the same ones at each call. Above
// many it shows what they are, and asks the question.
// Messages from standard input cannot be read twice, and need yes. Up to many messages
// are held in memory, which is at most 20 times mailbox.MaxMessage, and as much for their fields.
func Confirmed(ctx context.Context, c *verb.CLI, question string, names []string, yes bool, read func() iter.Seq2[Input, error]) (iter.Seq2[Input, error], error) {
	if yes {
		return read(), nil
	}
	next, stop := iter.Pull2(read())
	defer stop()
	var first []Result[Input]
	for len(first) <= verb.Many {
		in, err, ok := next()
		if !ok {
			return repeated(first, nil), nil
		}
		first = append(first, Result[Input]{Answer: in, Err: err})
	}
	if !verb.IsTerminal(c.In) || len(names) == 0 || slices.Contains(names, "-") {
		return nil, verb.UsageError(ErrManyNeedYes)
	}
	s, err := takeSurvey(ctx, c, repeated(first, next))
	if err != nil {
		return nil, err
	}
	c.Notify("warning", s.describe(names))
	if !c.Ask(question) {
		return nil, verb.Exit(verb.Declined)
	}
	c.Expected = s.messages
	return read(), nil
}

// repeated yields inputs that were read before, then those of next, if it is not nil.
func repeated(first []Result[Input], next func() (Input, error, bool)) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for _, r := range first {
			if !yield(r.Answer, r.Err) {
				return
			}
		}
		for next != nil {
			in, err, ok := next()
			if !ok || !yield(in, err) {
				return
			}
		}
	}
}
