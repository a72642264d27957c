package batch

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/signature"
)

// AttachedUsage is the help of --attached, for every verb that has it.
const AttachedUsage = "instead of each message, use those attached to it (message/rfc822, feedback reports); a message without any is refused"

// Messages reads the messages of a change: those in the named files, or those attached to
// them. Only the caller chooses between them: a sender who attaches a message to a spam must
// not decide what a report of the spam lists. Without names, as mail programs pipe a message,
// one whose header they have split is refused. A caller that names standard input is believed.
func Messages(c *verb.CLI, names []string, attached bool) iter.Seq2[Input, error] {
	inputs := Inputs(c, names)
	if len(names) == 0 {
		inputs = whole(inputs)
	}
	if attached {
		return attachedMessages(inputs)
	}
	return inputs
}

// attachedMessages replaces each message by those attached to it. Users forward a spam
// as an attachment to keep it unchanged. A feedback report (RFC 5965) is replaced by
// the message that it is about. A message without attached messages is refused: the
// user's own words and signature around a spam must not be reported as spam. So is one
// forwarded inline or redirected: what is attached to it belongs to the spam. Bounces,
// digests and answers of programs are refused too: no user attached the messages in them, and most of
// those are innocent. Anybody can have a program answer to a report address.
func attachedMessages(inputs iter.Seq2[Input, error]) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
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
	// errInline is wrapped if a message with attached ones is itself forwarded inline.
	errInline = errors.New("its text contains the header of another message, as of one forwarded inline: what is attached may belong to that")
	// errResent is wrapped if a message was redirected: the sender of the original attached what it has.
	errResent = errors.New("it was redirected unchanged, not forwarded: its user attached nothing to it")
	// errAutomatic is wrapped if a program wrote a message, such as a list that rejects a post.
	errAutomatic = errors.New("a program wrote it: no user attached anything to it")
	// errManyAttached is wrapped if a message has more than maxAttached.
	errManyAttached = errors.New("too many messages are attached")
)

// maxAttached bounds the messages attached to one. Each is a report on disk, and at a report
// address the reports of other users wait meanwhile.
const maxAttached = 200

// Refusal is a message that this program refuses.
type Refusal struct {
	Err    error
	Reason string // the error without the names of files
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// NewRefusal returns the refusal of a message for a reason. Hint names what to do; "": nothing.
func NewRefusal(name verb.MessageName, reason error, hint string) *Refusal {
	err := reason
	if name != "" {
		err = fmt.Errorf("%s: %w", name, reason)
	}
	return &Refusal{&verb.Fault{Code: verb.Data, Err: err, Hint: hint}, reason.Error()}
}

// attachedTo yields the messages attached to a message.
func attachedTo(in Input) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		if isResent(in.Message) {
			yield(in, NewRefusal(in.Name, errResent, "forward the message as an attachment"))
			return
		}
		if f, ok := signature.AsFeedback(in.Message); ok {
			reported := Input{in.Name + ", reported message", f.Original, cmp.Or(f.Type, "none")}
			if f.HeaderOnly {
				yield(reported, NewRefusal(in.Name, errHeaderOnly, ""))
			} else {
				yield(reported, nil)
			}
			return
		}
		if isAutomatic(in.Message) {
			yield(in, NewRefusal(in.Name, errAutomatic, ""))
			return
		}
		attached := signature.Attached(in.Message)
		switch n := len(attached); {
		case n == 0:
			yield(in, NewRefusal(in.Name, errNotAttached, "forward the message as an attachment, so that it arrives unchanged"))
		case n > maxAttached:
			yield(in, NewRefusal(in.Name, fmt.Errorf("%w: %d, at most %d", errManyAttached, n, maxAttached), "forward fewer messages at a time"))
			return
		case isInline(in.Message):
			yield(in, NewRefusal(in.Name, errInline, "forward the message itself as an attachment, without a text that names other addresses"))
			return
		}
		byMutt := isByMutt(in.Message)
		for i, m := range attached {
			one, err := Input{Name: in.Name + verb.MessageName(fmt.Sprintf(", attached message %d", i+1)), Message: m}, error(nil)
			if byMutt && isSplit(m) {
				err = NewRefusal(one.Name, errSplit, "forward it from another mail program, or move it to Junk there")
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

// isResent reports whether a user redirected m (RFC 5322 section 3.6.6).
func isResent(m signature.Message) bool {
	return slices.ContainsFunc(m.Header, func(f signature.Field) bool {
		return strings.HasPrefix(strings.ToLower(f.Name), "resent-")
	})
}

// isAutomatic reports whether a program wrote m (RFC 3834 section 5, and older habits). Mail programs of users write none
// of this.
func isAutomatic(m signature.Message) bool {
	return slices.ContainsFunc(m.Header, func(f signature.Field) bool {
		value := strings.ToLower(strings.TrimSpace(f.Value))
		switch strings.ToLower(strings.TrimRight(f.Name, " \t")) {
		case "auto-submitted":
			return value != "no"
		case "precedence":
			return slices.Contains([]string{"bulk", "junk", "list", "auto_reply"}, value)
		case "x-autoreply", "x-autorespond":
			return true
		}
		return false
	})
}

// HasAttached reports whether other messages are attached to a message.
func HasAttached(m signature.Message) bool {
	_, feedback := signature.AsFeedback(m)
	return feedback || len(signature.Attached(m)) > 0
}
