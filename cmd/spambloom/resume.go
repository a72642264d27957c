package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"slices"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// resumption is a run over many messages that can be interrupted and resumed.
type resumption struct {
	taken int    // messages taken; those that were skipped are among them
	next  string // name of the message before which it was interrupted; empty: it was not
}

// remaining yields the messages until ctx ends. A message that was yielded before is
// finished. The fields may be read when the iteration has ended.
func (p *resumption) remaining(ctx context.Context, inputs iter.Seq2[input, error]) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for in, err := range inputs {
			if ctx.Err() != nil {
				p.next = in.name
				return
			}
			p.taken++
			if !yield(in, err) {
				return
			}
		}
	}
}

// after yields the messages after the first n.
func after(n int, inputs iter.Seq2[input, error]) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		left := n
		for in, err := range inputs {
			if left > 0 {
				left--
			} else if !yield(in, err) {
				return
			}
		}
	}
}

// interruptible returns a context that ends at SIGINT, if all messages come from files,
// so that the run can be resumed. With standard input, SIGINT kills the program as usual.
func interruptible(ctx context.Context, names []string) (context.Context, context.CancelFunc) {
	if len(names) == 0 || slices.Contains(names, "-") {
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second SIGINT kills
	return ctx, stop
}

// interrupted prints how to resume, and returns the exit code.
func (c *cli) interrupted(p *resumption) error {
	c.notify("error", fmt.Sprintf("interrupted before %s", p.next))
	c.notify("hint", fmt.Sprintf("to resume there, run the same command with --skip %d", p.taken))
	return verb.Exit(verb.Interrupted)
}
