package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/spambloom/spambloom/signature"
)

// attachedUsage is the help of --attached, for every verb that has it.
const attachedUsage = "take the messages attached to a message (message/rfc822, feedback reports) in its place; one without any is refused"

// askerUsage is the help of --as, for the verbs of administrators.
const askerUsage = "name or address of `WHO` asks for it (default: your login name)"

// messages reads the messages of names, or those attached to them. Only the caller
// decides which: a sender who attaches a message to a spam must not choose what a
// report of the spam lists.
func (c *cli) messages(names []string, attached bool) iter.Seq2[input, error] {
	if attached {
		return unpacked(c.inputs(names))
	}
	return c.inputs(names)
}

// unpacked puts the messages that are attached to a message in its place: that
// is how people forward a spam without spoiling it. Of a feedback report (RFC 5965)
// it is the message that is complained about. A message without any is refused: what
// a person wrote around a spam, and their next letters end with, must not be taken
// for it. A bounce and a digest of a list are refused too: nobody attached what is in
// them, and it is mostly innocent.
func unpacked(inputs iter.Seq2[input, error]) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for in, err := range inputs {
			if err != nil {
				if !yield(in, err) {
					return
				}
				continue
			}
			for in, err := range inside(in) {
				if !yield(in, err) {
					return
				}
			}
		}
	}
}

var (
	// errHeaderOnly is wrapped where a feedback report leaves the message out.
	errHeaderOnly = errors.New("a feedback report with the message's header only, which cannot be signed")
	// errNotAttached is wrapped where a message has none attached, and should have.
	errNotAttached = errors.New("no message is attached")
)

// inside yields the messages attached to a message.
func inside(in input) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		if f, ok := signature.AsFeedback(in.message); ok {
			reported := input{in.name + ", reported message", f.Original, cmp.Or(f.Type, "none")}
			if f.HeaderOnly {
				yield(reported, &inputError{fmt.Errorf("%s: %w", in.name, errHeaderOnly)})
			} else {
				yield(reported, nil)
			}
			return
		}
		attached := signature.Attached(in.message)
		if len(attached) == 0 {
			yield(in, &inputError{fmt.Errorf("%s: %w", in.name, errNotAttached)})
		}
		for i, m := range attached {
			if !yield(input{name: fmt.Sprintf("%s, attached message %d", in.name, i+1), message: m}, nil) {
				return
			}
		}
	}
}

// brings reports whether a message brings another one.
func brings(m signature.Message) bool {
	_, feedback := signature.AsFeedback(m)
	return feedback || len(signature.Attached(m)) > 0
}
