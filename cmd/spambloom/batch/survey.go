package batch

import (
	"context"
	"fmt"
	"iter"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

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

// takeSurvey reads all messages, and asks the daemon which of them are wanted mail. Without a
// daemon the rest is described all the same.
func takeSurvey(ctx context.Context, c *verb.CLI, inputs iter.Seq2[Input, error]) (survey, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	daemon, unasked := c.Dial()
	if unasked == nil {
		defer daemon.Close()
	}
	look := func(ctx context.Context, in Input) (sight, error) {
		s := sight{date: dateOf(in.Message), unasked: unasked}
		if s.unasked == nil {
			s.declared, s.delivered, s.unasked = isWanted(ctx, daemon, in.Message)
		}
		return s, nil
	}
	var s survey
	bar := c.StartProgress()
	defer bar.Finish()
	for slot := range inOrder(ctx, ctx, inputs, look) {
		s.add(<-slot)
		bar.Add()
	}
	return s, ctx.Err()
}

func (s *survey) add(r Result[sight]) {
	if r.Err != nil {
		s.unreadable++
		return
	}
	m := r.Answer
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
	r, err := RequestOf(m)
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
	fmt.Fprintf(&b, "%s in %s", format.Plural(s.messages, "message"), places(names))
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
	list := verb.MessageName(strings.Join(names[:min(len(names), maxPlaces)], ", ")).String()
	if more := len(names) - maxPlaces; more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
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
