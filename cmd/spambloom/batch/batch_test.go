package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// numbered yields n inputs and counts those taken.
func numbered(n int, taken *atomic.Int32) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for i := range n {
			taken.Add(1)
			m := signature.Message{Body: fmt.Append(nil, i)}
			if !yield(Input{Name: verb.MessageName(fmt.Sprint("m", i)), Message: m}, nil) {
				return
			}
		}
	}
}

func newTestCLI() (*verb.CLI, *bytes.Buffer) {
	var stderr bytes.Buffer
	return &verb.CLI{Streams: verb.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr}}, &stderr
}

// A message with many short fields takes no more memory than a large message, and its body is read.
func TestManyFields(t *testing.T) {
	const most = 10 * (len("a\n") + signature.FieldOverhead)
	for _, n := range []int{4, 5, 6, 10_000} {
		m := parse(mailbox.Message{Raw: append(bytes.Repeat([]byte("a:\n"), n), "\nbody"...)}, int64(most))
		if len(m.Header) != min(n, 5) || m.Truncated || string(m.Body) != "body" {
			t.Errorf("of %d fields %d are read, and the body %q; truncated: %v", n, len(m.Header), m.Body, m.Truncated)
		}
	}
}

// Work in parallel, results in order, and an error costs one message.
func TestProcessInOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	c, stderr := newTestCLI()
	var taken, busy, most atomic.Int32
	meet := make(chan struct{})
	work := func(_ context.Context, m signature.Message) (string, error) {
		if n := busy.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer busy.Add(-1)
		switch body := string(m.Body); body {
		case "0":
			<-meet // the first one waits for the second
		case "1":
			close(meet)
		case "7", "8":
			return "", bloomdb.ErrNothing
		}
		return string(m.Body), nil
	}
	var shown []string
	err := Process(t.Context(), c, "done", numbered(100, &taken), work, func(r Result[string]) error {
		shown = append(shown, string(r.Name))
		return nil
	})
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("m", i))
	}
	if !slices.Equal(shown, want) {
		t.Errorf("shown %v", shown)
	}
	if verb.Code(err) != verb.Data || !strings.Contains(err.Error(), "m7: too little") {
		t.Errorf("error %v", err)
	}
	if got := stderr.String(); got != "spambloom: error: m7: too little content to sign\nspambloom: error: m8: too little content to sign\n" {
		t.Errorf("stderr %q", got)
	}
	if most.Load() > maxParallel+2 {
		t.Errorf("%d messages in work at once", most.Load())
	}
}

// An error that every message would meet stops the work soon, and process waits for the
// messages already started.
func TestProcessFatal(t *testing.T) {
	defer goleak.VerifyNone(t)
	c, stderr := newTestCLI()
	var taken atomic.Int32
	work := func(_ context.Context, m signature.Message) (string, error) {
		if string(m.Body) == "3" {
			return "", client.ErrUnavailable
		}
		return "", nil
	}
	shown := 0
	err := Process(t.Context(), c, "done", numbered(1_000_000, &taken), work, func(Result[string]) error { shown++; return nil })
	if verb.Code(err) != verb.Unavailable || shown != 4 || stderr.Len() != 0 {
		t.Errorf("%v after %d results, stderr %q", err, shown, stderr)
	}
	var stopped *StoppedError
	if !errors.As(err, &stopped) {
		t.Fatalf("%#v", err)
	}
	for later, want := range map[int]string{
		0: "stopped at m3: 3 done; run it again for this message and the rest",
		1: "stopped at m3: 3 done, and 1 after it; run it again for this message and the rest",
	} {
		stopped.Later = later
		if got := stopped.Rest(); got != want {
			t.Errorf("%d later ones: %s", later, got)
		}
	}
	if n := taken.Load(); n > 1000 {
		t.Errorf("%d messages were begun", n)
	}
}

// A full disk behind stdout is an error, not a silent loss.
func TestProcessOutputError(t *testing.T) {
	defer goleak.VerifyNone(t)
	c, _ := newTestCLI()
	c.Out = brokenWriter{}
	var taken atomic.Int32
	work := func(context.Context, signature.Message) (string, error) { return "x", nil }
	err := Process(t.Context(), c, "done", numbered(10, &taken), work, func(r Result[string]) error { return c.Print(r.Answer) })
	if verb.Code(err) != verb.IOErr {
		t.Errorf("%v: exit code %d", err, verb.Code(err))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Only messages that a user attached replace the message around them; a message without
// any is refused.
func TestAttachedMessages(t *testing.T) {
	const inner = "Content-Type: message/rfc822\n\nSubject: inner\n\nhello\n"
	for kind, want := range map[string][]string{
		"mixed":  {"m, attached message 1", "m, attached message 2"},
		"report": nil,
		"digest": nil,
	} {
		m := signature.Parse([]byte("Content-Type: multipart/" + kind + "; boundary=b\n\n--b\n" + inner + "--b\n" + inner + "--b--\n"))
		one := func(yield func(Input, error) bool) { yield(Input{Name: "m", Message: m}, nil) }
		var got []string
		for in, err := range attachedMessages(one) {
			if want == nil && errors.Is(err, errNotAttached) {
				continue
			}
			testenv.Check(t, err)
			got = append(got, string(in.Name))
		}
		if !slices.Equal(got, want) {
			t.Errorf("multipart/%s: %q, want %q", kind, got, want)
		}
	}
}

// Nothing is started after the end of the start, although the queue has room; what was started goes on.
func TestNothingStartedLater(t *testing.T) {
	for range 20 { // chance decides
		starting, stop := context.WithCancel(t.Context())
		stopped, working, left, begun := make(chan struct{}), make(chan struct{}), make(chan struct{}), new(atomic.Int64)
		inputs := func(yield func(Input, error) bool) {
			for i := range 10 {
				if i == 1 {
					<-stopped
				}
				if !yield(Input{Name: verb.MessageName(strconv.Itoa(i))}, nil) {
					return
				}
			}
		}
		queue := inOrder(t.Context(), starting, inputs, func(ctx context.Context, _ Input) (int, error) {
			if begun.Add(1) == 1 {
				close(working)
			}
			<-left
			return 1, ctx.Err()
		})
		first := <-queue
		<-working
		stop()
		close(stopped)
		for slot := range queue {
			select {
			case r := <-slot:
				if !errors.Is(r.Err, context.Canceled) {
					t.Errorf("%s was done: %v", r.Name, r.Err)
				}
			case <-time.After(testenv.Patience):
				t.Fatal("one was started after the stop")
			}
		}
		close(left)
		if r := <-first; r.Answer != 1 || r.Err != nil || begun.Load() != 1 {
			t.Errorf("the first one: %+v; %d were started", r, begun.Load())
		}
	}
}
