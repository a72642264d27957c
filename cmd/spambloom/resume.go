package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"slices"
)

// passage is the way of many messages, which may be interrupted and gone on with.
type passage struct {
	skip  int    // so many messages are left out
	taken int    // the number of the last that was taken
	next  string // the one at which it was interrupted; empty: it was not
}

// through lets the messages pass that are not skipped, until ctx ends: what has begun
// then is finished. The passage may be read when the messages have ended.
func (p *passage) through(ctx context.Context, inputs iter.Seq2[input, error]) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		n := 0
		for in, err := range inputs {
			if n++; n <= p.skip {
				continue
			}
			if ctx.Err() != nil {
				p.next = in.name
				return
			}
			p.taken = n
			if !yield(in, err) {
				return
			}
		}
	}
}

// interruptible ends with SIGINT, where that leaves something to go on with: of files.
// Who waits for standard input is killed by it, as ever.
func interruptible(ctx context.Context, names []string) (context.Context, context.CancelFunc) {
	if len(names) == 0 || slices.Contains(names, "-") {
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second one kills
	return ctx, stop
}

// tellInterrupted says where to go on.
func (c *cli) tellInterrupted(p *passage) error {
	c.tell("error", fmt.Sprintf("interrupted before %s", p.next))
	c.tell("hint", fmt.Sprintf("the same command with --skip %d goes on there", max(p.taken, p.skip)))
	return verdictExit(exInterrupted)
}
