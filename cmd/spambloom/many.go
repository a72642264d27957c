package main

import (
	"context"
	"fmt"
	"iter"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// many is the number of messages above which a change has to be confirmed. A folder that
// was named by mistake has more.
const many = 20

// yesUsage is the help of --yes, for the verbs that ask.
const yesUsage = "do not ask, also if there are more than 20 messages"

// asksHelp is the help of the verbs that ask.
const asksHelp = `For more than 20 messages the command asks on a terminal, and shows their number, folder
and dates, and how many of them were seen as wanted mail before. Without a terminal, and
for messages from standard input, --yes is required. A total is printed at the end.`

var errManyNeedYes = fmt.Errorf("more than %d messages, and the question cannot be asked: add --yes to confirm", many)

// confirmed returns the messages of read, which yields the same ones at each call. Above
// many it shows what they are, and asks the question.
// Messages from standard input cannot be read twice, and need yes. Up to many messages
// are held in memory, which is at most 20 times mailbox.MaxMessage.
func (c *cli) confirmed(ctx context.Context, question string, names []string, yes bool, read func() iter.Seq2[input, error]) (iter.Seq2[input, error], error) {
	if yes {
		return read(), nil
	}
	next, stop := iter.Pull2(read())
	defer stop()
	var first []result[input]
	for len(first) <= many {
		in, err, ok := next()
		if !ok {
			return repeated(first, nil), nil
		}
		first = append(first, result[input]{answer: in, err: err})
	}
	if !verb.IsTerminal(c.In) || len(names) == 0 || slices.Contains(names, "-") {
		return nil, verb.UsageError(errManyNeedYes)
	}
	s, err := c.survey(ctx, repeated(first, next))
	if err != nil {
		return nil, err
	}
	c.notify("warning", s.describe(names))
	if !c.Ask(question) {
		return nil, verb.Exit(verb.Declined)
	}
	c.expected = s.messages
	return read(), nil
}

// confirmedIDs asks for confirmation of a change of many messages that are named by ids.
func (c *cli) confirmedIDs(ids []string, yes bool, question string) error {
	switch {
	case yes || len(ids) <= many:
		return nil
	case !verb.IsTerminal(c.In):
		return verb.UsageError(errManyNeedYes)
	}
	c.notify("warning", fmt.Sprintf("%d ids", len(ids)))
	if !c.Ask(question) {
		return verb.Exit(verb.Declined)
	}
	return nil
}

// counting shows the progress of a change of so many messages that are named by ids. done counts
// the outcome of one, and finish prints the total.
func (c *cli) counting(ids int) (done func(outcome string), finish func()) {
	c.changes, c.expected = true, ids
	bar := c.startProgress()
	sum := newTotal()
	done = func(outcome string) {
		bar.add()
		sum.add(nil, outcome)
	}
	return done, func() {
		bar.finish()
		sum.print(c)
	}
}

// repeated yields inputs that were read before, then those of next, if it is not nil.
func repeated(first []result[input], next func() (input, error, bool)) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for _, r := range first {
			if !yield(r.answer, r.err) {
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

// survey describes the messages of a change before it is made.
type survey struct {
	messages   int
	unreadable int
	from, to   time.Time // the earliest and latest date; zero: no message has one

	declared  int   // on the never-list, or revoked and not reported again
	delivered int   // judged lately, and not called spam
	unasked   error // why these two are incomplete
}

// sight is what is known of one message.
type sight struct {
	date                time.Time
	declared, delivered bool
	unasked             error
}

// survey reads all messages, and asks the daemon which of them are wanted mail. Without a
// daemon the rest is described all the same.
func (c *cli) survey(ctx context.Context, inputs iter.Seq2[input, error]) (survey, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	daemon, unasked := c.dial()
	if unasked == nil {
		defer daemon.Close()
	}
	look := func(ctx context.Context, in input) (sight, error) {
		s := sight{date: dateOf(in.message), unasked: unasked}
		if s.unasked == nil {
			s.declared, s.delivered, s.unasked = isWanted(ctx, daemon, in.message)
		}
		return s, nil
	}
	var s survey
	bar := c.startProgress()
	defer bar.finish()
	for slot := range inOrder(ctx, inputs, look) {
		s.add(<-slot)
		bar.add()
	}
	return s, ctx.Err()
}

func (s *survey) add(r result[sight]) {
	if r.err != nil {
		s.unreadable++
		return
	}
	m := r.answer
	s.messages++
	if !m.date.IsZero() && (s.from.IsZero() || m.date.Before(s.from)) {
		s.from = m.date
	}
	if m.date.After(s.to) {
		s.to = m.date
	}
	switch {
	case m.declared:
		s.declared++
	case m.delivered:
		s.delivered++
	}
	if s.unasked == nil {
		s.unasked = m.unasked
	}
}

// isWanted asks the daemon whether a message was seen as wanted mail before.
func isWanted(ctx context.Context, daemon *client.Client, m signature.Message) (declared, delivered bool, err error) {
	r, err := requestOf(m)
	if err != nil {
		return false, false, nil // it will be refused
	}
	known, err := client.Post(ctx, daemon, v1.Lookup, api.LookupRequest{Request: r})
	if err != nil {
		return false, false, err
	}
	declared = known.Explanation != nil && known.Explanation.Never ||
		slices.ContainsFunc(known.Reports, func(r api.Reported) bool { return r.Action == "revoke" && r.State == "counts" })
	delivered = slices.ContainsFunc(known.Judged, func(j api.Judged) bool { return j.Verdict != "spam" })
	return declared, delivered, nil
}

// describe returns what the user has to know before the answer.
func (s *survey) describe(names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s", plural(s.messages, "message"), places(names))
	if !s.from.IsZero() {
		fmt.Fprintf(&b, ", dated %s to %s", s.from.Format(time.DateOnly), s.to.Format(time.DateOnly))
	}
	if s.unreadable > 0 {
		fmt.Fprintf(&b, ", and %d that cannot be read", s.unreadable)
	}
	if s.unasked != nil {
		return fmt.Sprintf("%s; the daemon cannot be asked which of them are wanted mail: %v", b.String(), s.unasked)
	}
	fmt.Fprintf(&b, "; %d of them were seen as wanted mail before", s.declared+s.delivered)
	if s.declared+s.delivered > 0 {
		fmt.Fprintf(&b, ": %d revoked or declared never spam, %d delivered lately and not called spam", s.declared, s.delivered)
	}
	return b.String()
}

// maxPlaces is the number of names that a question lists.
const maxPlaces = 3

// places lists the names of files and folders.
func places(names []string) string {
	if more := len(names) - maxPlaces; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxPlaces], ", "), more)
	}
	return strings.Join(names, ", ")
}

// dateOf returns the date that the sender wrote into a message, or zero. It may be wrong.
func dateOf(m signature.Message) time.Time {
	for _, f := range m.Header {
		if !f.Is("Date") {
			continue
		}
		t, err := mail.ParseDate(strings.Join(strings.Fields(f.Value), " "))
		if err != nil || t.Year() < 1970 || t.Year() > 9999 {
			return time.Time{}
		}
		return t.UTC()
	}
	return time.Time{}
}
