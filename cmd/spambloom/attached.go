package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/signature"
)

// attachedUsage is the help of --attached, for every verb that has it.
const attachedUsage = "instead of each message, use those attached to it (message/rfc822, feedback reports); a message without any is refused"

// askerUsage is the help of --as, for the verbs of administrators.
const askerUsage = "name or address of the `ADMIN` who asks, for the log (default: your login name)"

// messages reads the messages in the named files, or those attached to them. Only the
// caller chooses between them: a sender who attaches a message to a spam must not
// decide what a report of the spam lists.
func (c *cli) messages(names []string, attached bool) iter.Seq2[input, error] {
	if attached {
		return attachedMessages(c.inputs(names))
	}
	return c.inputs(names)
}

// attachedMessages replaces each message by those attached to it. Users forward a spam
// as an attachment to keep it unchanged. A feedback report (RFC 5965) is replaced by
// the message that it is about. A message without attached messages is refused: the
// user's own words and signature around a spam must not be reported as spam. Bounces
// and digests are refused too: no user attached the messages in them, and most of
// those are innocent.
func attachedMessages(inputs iter.Seq2[input, error]) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for in, err := range inputs {
			if err != nil {
				if !yield(in, err) {
					return
				}
				continue
			}
			for in, err := range attachedTo(in) {
				if !yield(in, err) {
					return
				}
			}
		}
	}
}

var (
	// errHeaderOnly is wrapped if a feedback report lacks the message's body.
	errHeaderOnly = errors.New("the feedback report has only the header of the message, which cannot be signed")
	// errNotAttached is wrapped if a message lacks an attached message.
	errNotAttached = errors.New("no message is attached")
)

// refusal is a message that this program refuses.
type refusal struct {
	err    error
	reason string // the error without the names of files
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// newRefusal returns the refusal of a message for a reason. Hint names what to do; "": nothing.
func newRefusal(name string, reason error, hint string) *refusal {
	err := reason
	if name != "" {
		err = fmt.Errorf("%s: %w", name, reason)
	}
	return &refusal{&verb.Fault{Code: verb.Data, Err: err, Hint: hint}, reason.Error()}
}

// attachedTo yields the messages attached to a message.
func attachedTo(in input) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		if f, ok := signature.AsFeedback(in.message); ok {
			reported := input{in.name + ", reported message", f.Original, cmp.Or(f.Type, "none")}
			if f.HeaderOnly {
				yield(reported, newRefusal(in.name, errHeaderOnly, ""))
			} else {
				yield(reported, nil)
			}
			return
		}
		attached := signature.Attached(in.message)
		if len(attached) == 0 {
			yield(in, newRefusal(in.name, errNotAttached, "forward the message as an attachment, so that it arrives unchanged"))
		}
		for i, m := range attached {
			if !yield(input{name: fmt.Sprintf("%s, attached message %d", in.name, i+1), message: m}, nil) {
				return
			}
		}
	}
}

// hasAttached reports whether other messages are attached to a message.
func hasAttached(m signature.Message) bool {
	_, feedback := signature.AsFeedback(m)
	return feedback || len(signature.Attached(m)) > 0
}
