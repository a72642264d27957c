package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// numbered yields n inputs and counts those taken.
func numbered(n int, taken *atomic.Int32) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for i := range n {
			taken.Add(1)
			m := signature.Message{Body: fmt.Append(nil, i)}
			if !yield(input{name: fmt.Sprint("m", i), message: m}, nil) {
				return
			}
		}
	}
}

func newTestCLI() (*cli, *bytes.Buffer) {
	var stderr bytes.Buffer
	return &cli{Streams: verb.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr}}, &stderr
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
	err := process(t.Context(), c, "done", numbered(100, &taken), work, func(r result[string]) error {
		shown = append(shown, r.name)
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
	err := process(t.Context(), c, "done", numbered(1_000_000, &taken), work, func(result[string]) error { shown++; return nil })
	if verb.Code(err) != verb.Unavailable || shown != 4 || stderr.Len() != 0 {
		t.Errorf("%v after %d results, stderr %q", err, shown, stderr)
	}
	var stopped *stoppedError
	if !errors.As(err, &stopped) || stopped.rest() != "stopped at m3: 3 done; run it again for this message and the rest" {
		t.Errorf("%#v", err)
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
	err := process(t.Context(), c, "done", numbered(10, &taken), work, func(r result[string]) error { return c.print(r.answer) })
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
		one := func(yield func(input, error) bool) { yield(input{name: "m", message: m}, nil) }
		var got []string
		for in, err := range attachedMessages(one) {
			if want == nil && errors.Is(err, errNotAttached) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, in.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("multipart/%s: %q, want %q", kind, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := &progress{w: &w}
	for range many {
		p.add()
	}
	if w.Len() != 0 {
		t.Errorf("a bar for %d messages: %q", many, w.String())
	}
	p.add()
	if !strings.Contains(w.String(), "messages") || !strings.Contains(w.String(), "21") {
		t.Errorf("no bar for %d messages: %q", many+1, w.String())
	}
	p.finish()
	quiet := &progress{}
	for range 100 {
		quiet.add()
	}
	quiet.finish()
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 400 << 20: "400.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
