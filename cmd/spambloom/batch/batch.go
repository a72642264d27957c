// Package batch does the work of a verb on many messages: it reads the messages that the
// arguments name, asks for confirmation if there are many, processes several at a time,
// shows the results in order, and counts the outcomes.
//
// It owns what the verbs for messages share. It owns no verb, and sends no report.
//
//	Inputs, Messages    the messages in files, or those attached to them
//	IDsOf               messages that are named by IDs
//	Confirmed           the question before a change of many messages
//	Process             several messages at a time
//	Total               the outcomes
//	Resumption          a run that was interrupted
package batch

import (
	"cmp"
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

// Input is a message and its name.
type Input struct {
	Name     verb.MessageName
	Message  signature.Message
	Feedback string // the type of the feedback report that contained it; empty: none did
}

// Inputs reads the messages in the named files.
func Inputs(c *verb.CLI, names []string) iter.Seq2[Input, error] {
	if len(names) == 0 && verb.IsTerminal(c.In) {
		fmt.Fprintln(c.Err, "spambloom: hint: reading a message from the terminal; end it with ctrl-d")
	}
	return func(yield func(Input, error) bool) {
		for m, err := range mailbox.Read(names, c.In) {
			in := Input{Name: verb.MessageName(m.Name)}
			if err != nil {
				err = &verb.InputError{Err: err}
			} else {
				in.Message = parse(m, mailbox.MaxMessage)
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// parse parses a message, within a bound of memory: the fields of 64 MiB of short ones would take 0.9 GB.
func parse(m mailbox.Message, most int64) signature.Message {
	parsed, _ := signature.ParseWithin(m.Raw, most)
	parsed.Truncated = parsed.Truncated || m.Truncated
	return parsed
}

// Result is the outcome for one message.
type Result[T any] struct {
	Name   verb.MessageName
	Answer T
	Err    error
}

// maxParallel bounds the messages processed at once. It keeps the cores and the
// daemon's disk busy, and bounds memory: each message may have mailbox.MaxMessage
// bytes.
const maxParallel = 8

// inOrder processes all inputs, several at a time, and queues a slot for each result
// in the order of the inputs. The caller must drain the queue and receive the result
// from each slot. When starting ends, no further input is started; work goes on until ctx ends.
func inOrder[T any](ctx, starting context.Context, inputs iter.Seq2[Input, error], work func(context.Context, Input) (T, error)) <-chan chan Result[T] {
	queue := make(chan chan Result[T], min(2*runtime.GOMAXPROCS(0), maxParallel))
	begin := func(in Input, err error, slot chan<- Result[T]) {
		if err != nil {
			slot <- Result[T]{Name: in.Name, Err: err}
			return
		}
		answer, err := work(ctx, in)
		if err != nil {
			err = fmt.Errorf("%s: %w", in.Name, err)
		}
		slot <- Result[T]{in.Name, answer, err}
	}
	go func() {
		defer close(queue)
		for in, err := range inputs {
			slot := make(chan Result[T], 1)
			select {
			case queue <- slot: // perhaps because it is drained since
				go begin(in, cmp.Or(err, starting.Err()), slot)
			case <-starting.Done():
				return
			}
		}
	}()
	return queue
}

// Process runs work on all inputs and shows the results in order. An error that
// concerns one message is printed, and the others continue; process returns the first
// such error. An error that every message would meet stops the work; with several
// messages it is a *StoppedError. done names the outcome of messages without an error.
func Process[T any](ctx context.Context, c *verb.CLI, done string, inputs iter.Seq2[Input, error],
	work func(context.Context, signature.Message) (T, error), show func(Result[T]) error,
) error {
	return ProcessInputs(ctx, c, done, inputs, func(ctx context.Context, in Input) (T, error) { return work(ctx, in.Message) }, show)
}

// ProcessInputs is Process for work that needs the input of a message.
func ProcessInputs[T any](ctx context.Context, c *verb.CLI, done string, inputs iter.Seq2[Input, error],
	work func(context.Context, Input) (T, error), show func(Result[T]) error,
) error {
	starting, stop := context.WithCancel(ctx) // what was started is not broken off: the daemon may have taken it
	defer stop()
	bar := c.StartProgress()
	defer bar.Finish()
	var first error
	begun, stopped := 0, &StoppedError{Done: done}
	for slot := range inOrder(ctx, starting, counted(inputs, &begun), work) {
		r := <-slot
		if stopped.Err != nil { // wait for messages already started
			if r.Err == nil {
				stopped.Later++
			}
			continue
		}
		bar.Add()
		stopped.Before++
		if err := show(r); err != nil {
			r.Err = err
		}
		switch {
		case r.Err == nil:
			stopped.Count++
		case ConcernsOne(r.Err):
			c.Notify("error", r.Err.Error())
			if first == nil {
				first = &verb.PrintedError{Err: r.Err}
			}
		default:
			stopped.Err, stopped.Name = r.Err, r.Name
			stopped.Before--
			stop()
		}
	}
	switch {
	case stopped.Err == nil:
		return first
	case begun > 1: // the queue is closed, so begun changes no more
		return stopped
	}
	return stopped.Err
}

// counted counts in n the inputs that are taken.
func counted(inputs iter.Seq2[Input, error], n *int) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for in, err := range inputs {
			*n++
			if !yield(in, err) {
				return
			}
		}
	}
}

// ConcernsOne reports whether an error concerns one message only, not all of them.
func ConcernsOne(err error) bool {
	var input *verb.InputError
	var refused *Refusal
	var problem *api.Problem
	switch {
	case errors.As(err, &input), errors.As(err, &refused), errors.Is(err, bloomdb.ErrNothing), errors.Is(err, signature.ErrNoHeader):
		return true
	case errors.As(err, &problem):
		return problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusConflict
	}
	return false
}

// RequestOf signs a message. It returns bloomdb.ErrNothing if there is too little content.
func RequestOf(m signature.Message) (api.Request, error) {
	set := signature.Compute(m)
	if len(set.Signatures) == 0 {
		return api.Request{}, bloomdb.ErrNothing
	}
	return api.NewRequest(set), nil
}
