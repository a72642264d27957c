package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// inputError is a file or message that cannot be read.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// input is a message under its name.
type input struct {
	name     string
	message  signature.Message
	feedback string // the type of the feedback report that brought it; empty: none did
}

// inputs reads the messages of names.
func (c *cli) inputs(names []string) iter.Seq2[input, error] {
	if len(names) == 0 && isTerminal(c.stdin) {
		fmt.Fprintln(c.stderr, "spambloom: hint: reading a message from the terminal; end it with ctrl-d")
	}
	return func(yield func(input, error) bool) {
		for m, err := range mailbox.Read(names, c.stdin) {
			in := input{name: m.Name}
			if err != nil {
				err = &inputError{err}
			} else {
				in.message = signature.Parse(m.Raw)
				in.message.Truncated = m.Truncated
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// result is what became of one message.
type result[T any] struct {
	name   string
	answer T
	err    error
}

// maxParallel bounds the messages in work at once: enough to keep the cores and
// the daemon's disk busy, few enough for memory, as each may have
// mailbox.MaxMessage bytes.
const maxParallel = 8

// inOrder works on all inputs, some at a time, and queues a slot for each result
// in the order of the inputs. The caller must take the queue to its end and the
// result out of each slot; when ctx ends, no more inputs are begun.
func inOrder[T any](ctx context.Context, inputs iter.Seq2[input, error], work func(context.Context, input) (T, error)) <-chan chan result[T] {
	queue := make(chan chan result[T], min(2*runtime.GOMAXPROCS(0), maxParallel))
	begin := func(in input, err error, slot chan<- result[T]) {
		if err != nil {
			slot <- result[T]{name: in.name, err: err}
			return
		}
		answer, err := work(ctx, in)
		if err != nil {
			err = fmt.Errorf("%s: %w", in.name, err)
		}
		slot <- result[T]{in.name, answer, err}
	}
	go func() {
		defer close(queue)
		for in, err := range inputs {
			slot := make(chan result[T], 1)
			select {
			case queue <- slot:
				go begin(in, err, slot)
			case <-ctx.Done():
				return
			}
		}
	}()
	return queue
}

// process works on all inputs and shows the results in order. An error that
// concerns one message is told, and the others go on; the first such error is
// returned. An error that all would meet ends the work; of several messages it is
// a *stoppedError. The word done is what became of those without an error.
func process[T any](ctx context.Context, c *cli, done string, inputs iter.Seq2[input, error],
	work func(context.Context, signature.Message) (T, error), show func(result[T]) error,
) error {
	return processInputs(ctx, c, done, inputs, func(ctx context.Context, in input) (T, error) { return work(ctx, in.message) }, show)
}

// processInputs is process for work that asks what brought a message.
func processInputs[T any](ctx context.Context, c *cli, done string, inputs iter.Seq2[input, error],
	work func(context.Context, input) (T, error), show func(result[T]) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.bar = newProgress(c)
	defer c.bar.finish()
	var first error
	begun, stopped := 0, &stoppedError{done: done}
	for slot := range inOrder(ctx, counted(inputs, &begun), work) {
		r := <-slot
		if stopped.error != nil {
			continue // wait for what had begun
		}
		c.bar.add()
		stopped.before++
		if err := show(r); err != nil {
			r.err = err
		}
		switch {
		case r.err == nil:
			stopped.count++
		case concernsOne(r.err):
			c.tell("error", r.err.Error())
			if first == nil {
				first = &toldError{r.err}
			}
		default:
			stopped.error, stopped.name = r.err, r.name
			stopped.before--
			cancel()
		}
	}
	switch {
	case stopped.error == nil:
		return first
	case begun > 1: // the queue has ended, and with it who counts
		return stopped
	}
	return stopped.error
}

// counted counts in n what is taken of inputs.
func counted(inputs iter.Seq2[input, error], n *int) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for in, err := range inputs {
			*n++
			if !yield(in, err) {
				return
			}
		}
	}
}

// concernsOne tells an error about one message from one that all would meet.
func concernsOne(err error) bool {
	var input *inputError
	var feedback *feedbackError
	var problem *api.Problem
	switch {
	case errors.As(err, &input), errors.As(err, &feedback), errors.Is(err, bloomdb.ErrNothing):
		return true
	case errors.As(err, &problem):
		return problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusConflict
	}
	return false
}

// isTerminal tells whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
