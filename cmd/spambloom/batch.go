package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// input is a message and its name.
type input struct {
	name     string
	message  signature.Message
	feedback string // the type of the feedback report that contained it; empty: none did
}

// inputs reads the messages in the named files.
func (c *cli) inputs(names []string) iter.Seq2[input, error] {
	if len(names) == 0 && verb.IsTerminal(c.In) {
		fmt.Fprintln(c.Err, "spambloom: hint: reading a message from the terminal; end it with ctrl-d")
	}
	return func(yield func(input, error) bool) {
		for m, err := range mailbox.Read(names, c.In) {
			in := input{name: m.Name}
			if err != nil {
				err = &verb.InputError{Err: err}
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

// result is the outcome for one message.
type result[T any] struct {
	name   string
	answer T
	err    error
}

// maxParallel bounds the messages processed at once. It keeps the cores and the
// daemon's disk busy, and bounds memory: each message may have mailbox.MaxMessage
// bytes.
const maxParallel = 8

// inOrder processes all inputs, several at a time, and queues a slot for each result
// in the order of the inputs. The caller must drain the queue and receive the result
// from each slot. When ctx ends, no further input is started.
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

// process runs work on all inputs and shows the results in order. An error that
// concerns one message is printed, and the others continue; process returns the first
// such error. An error that every message would meet stops the work; with several
// messages it is a *stoppedError. done names the outcome of messages without an error.
func process[T any](ctx context.Context, c *cli, done string, inputs iter.Seq2[input, error],
	work func(context.Context, signature.Message) (T, error), show func(result[T]) error,
) error {
	return processInputs(ctx, c, done, inputs, func(ctx context.Context, in input) (T, error) { return work(ctx, in.message) }, show)
}

// processInputs is process for work that needs the input of a message.
func processInputs[T any](ctx context.Context, c *cli, done string, inputs iter.Seq2[input, error],
	work func(context.Context, input) (T, error), show func(result[T]) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bar := c.startProgress()
	defer bar.finish()
	var first error
	begun, stopped := 0, &stoppedError{done: done}
	for slot := range inOrder(ctx, counted(inputs, &begun), work) {
		r := <-slot
		if stopped.err != nil {
			continue // wait for messages already started
		}
		bar.add()
		stopped.before++
		if err := show(r); err != nil {
			r.err = err
		}
		switch {
		case r.err == nil:
			stopped.count++
		case concernsOne(r.err):
			c.notify("error", r.err.Error())
			if first == nil {
				first = &verb.PrintedError{Err: r.err}
			}
		default:
			stopped.err, stopped.name = r.err, r.name
			stopped.before--
			cancel()
		}
	}
	switch {
	case stopped.err == nil:
		return first
	case begun > 1: // the queue is closed, so begun changes no more
		return stopped
	}
	return stopped.err
}

// counted counts in n the inputs that are taken.
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

// concernsOne reports whether an error concerns one message only, not all of them.
func concernsOne(err error) bool {
	var input *verb.InputError
	var refused *refusal
	var problem *api.Problem
	switch {
	case errors.As(err, &input), errors.As(err, &refused), errors.Is(err, bloomdb.ErrNothing), errors.Is(err, signature.ErrNoHeader):
		return true
	case errors.As(err, &problem):
		return problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusConflict
	}
	return false
}
