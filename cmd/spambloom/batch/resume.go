package batch

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"slices"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// Resumption is a run over many messages that can be interrupted and resumed.
type Resumption struct {
	Taken int              // messages taken; those that were skipped are among them
	Next  verb.MessageName // name of the message before which it was interrupted; empty: it was not
}

// Remaining yields the messages until ctx ends. A message that was yielded before is
// finished. The fields may be read when the iteration has ended.
func (p *Resumption) Remaining(ctx context.Context, inputs iter.Seq2[Input, error]) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for in, err := range inputs {
			if ctx.Err() != nil {
				p.Next = in.Name
				return
			}
			p.Taken++
			if !yield(in, err) {
				return
			}
		}
	}
}

// After yields the messages after the first n.
func After(n int, inputs iter.Seq2[Input, error]) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
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

// Interruptible returns a context that ends at SIGINT, if all messages come from files,
// so that the run can be resumed. With standard input, SIGINT kills the program as usual.
func Interruptible(ctx context.Context, names []string) (context.Context, context.CancelFunc) {
	if len(names) == 0 || slices.Contains(names, "-") {
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second SIGINT kills
	return ctx, stop
}

// Interrupted prints how to resume, and returns the exit code.
func Interrupted(c *verb.CLI, p *Resumption) error {
	c.Notify("error", fmt.Sprintf("interrupted before %s", p.Next))
	c.Notify("hint", fmt.Sprintf("to resume there, run the same command with --skip %d", p.Taken))
	return verb.Exit(verb.Interrupted)
}
