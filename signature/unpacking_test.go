package signature

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// emptyBlocks is a gzip file of n bytes that holds nothing: blocks without data.
func emptyBlocks(n int) []byte {
	head := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
	return append(head, strings.Repeat("\x00\x00\x00\xff\xff", n/5)...)
}

// askedOf is how often a file asks whether to stop, where it is told so after a number of
// questions; and whether it was given up.
func askedOf(content []byte, stopAfter int) (asked int, over bool) {
	u := unpacker{left: maxInflated, isStopped: func() bool { asked++; return asked > stopAfter }}
	u.digest(content)
	return asked, u.over
}

// Unpacking stops within 4 KiB of packed data, however little that gives, and soon after
// the first answer that it is to stop.
func TestUnpackingStops(t *testing.T) {
	const never = 1 << 30
	text := random(1, 1<<20)
	deflated := deflated(t, text)
	for name, content := range map[string][]byte{
		"empty blocks": emptyBlocks(1 << 20),
		"gzip":         gzipped(t, "a", []byte(text)),
		"ZIP":          zipped(t, member{"a.txt", text}, member{"b.txt", text}),
		"PDF":          somePDF("/Filter /FlateDecode", deflated, ""),
		"many streams": bytes.Repeat(somePDF("", "x", ""), 1000),
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := askedOf(content, never)
			if least := len(content) / stoppable / 2; all < least {
				t.Errorf("asked %d times, want %d at least", all, least)
			}
			asked, _ := askedOf(content, all/2)
			if asked > all/2+8 {
				t.Errorf("told to stop at question %d, and asked %d times", all/2, asked)
			}
		})
	}
}

// brokenOff is an Unpacking that stops the first n of its calls.
type brokenOff struct {
	stops       int
	calls, held int
}

func (b *brokenOff) take() (stop <-chan struct{}, done func()) {
	b.calls++
	b.held++
	stopping := make(chan struct{})
	if b.calls <= b.stops {
		close(stopping)
	}
	return stopping, func() { b.held-- }
}

// What was stopped has the signatures, the limits and the steps of what was not.
func TestStoppedUnpacking(t *testing.T) {
	mails, err := filepath.Glob("testdata/7*.eml")
	if err != nil || len(mails) != 6 {
		t.Fatalf("%d mails with images and archives, %v", len(mails), err)
	}
	computed := func(m Message, u Unpacking) (Set, int) {
		c := computers.Get().(*computer)
		defer c.release()
		c.unpacking = u
		return c.compute(m), c.work.steps
	}
	for _, mail := range mails {
		raw, err := os.ReadFile(mail)
		if err != nil {
			t.Fatal(err)
		}
		want, steps := computed(Parse(raw), nil)
		for stops := range 4 {
			b := brokenOff{stops: stops}
			got, gotSteps := computed(Parse(raw), b.take)
			if !reflect.DeepEqual(got, want) || gotSteps != steps {
				t.Errorf("%s stopped %d times: %+v in %d steps, want %+v in %d", mail, stops, got, gotSteps, want, steps)
			}
			if b.calls != stops+1 || b.held != 0 {
				t.Errorf("%s stopped %d times: asked for a slot %d times, %d held at the end", mail, stops, b.calls, b.held)
			}
		}
	}
}

// A message without images and archives asks for no slot, and one that panics gives its
// slot back.
func TestSlotsOfUnpacking(t *testing.T) {
	var b brokenOff
	if ComputeWith(Parse([]byte("Subject: x\n\n"+prose)), b.take); b.calls != 0 {
		t.Errorf("a text asked for %d slots", b.calls)
	}
	c := new(computer)
	c.unpacking = b.take
	func() {
		defer func() { _ = recover() }()
		c.unpack(func() { panic("a decoder") })
	}()
	if b.calls != 1 || b.held != 0 {
		t.Errorf("after a panic %d of %d slots are held", b.held, b.calls)
	}
}

// Wherever unpacking is stopped, the next attempt gives what one attempt gives.
func TestStoppedAnywhere(t *testing.T) {
	text := random(3, 60<<10)
	files := [][]byte{
		zipped(t, member{"a.txt", text}, member{"b.txt", text[:5000]}),
		gzipped(t, "a", tarred(t, member{"a.txt", text})),
		somePDF("/Filter /FlateDecode", deflated(t, text), ""),
	}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SampledFrom(files).Draw(t, "file")
		at := rapid.IntRange(0, 60).Draw(t, "question at which it stops")
		c := new(computer)
		stop := make(chan struct{})
		calls, asked := 0, 0
		c.unpacking = func() (<-chan struct{}, func()) {
			if calls++; calls > 1 {
				return nil, func() {}
			}
			return stop, func() {}
		}
		var got Digest
		c.unpack(func() {
			u := unpacker{left: maxInflated, work: &c.work, isStopped: func() bool {
				if asked++; asked == at {
					close(stop)
				}
				return c.isStopped()
			}}
			got, _ = u.digest(content)
		})
		want, _ := unpack(content)
		if got != want || calls > 2 {
			t.Fatalf("after %d questions and %d attempts %x, want %x", asked, calls, got, want)
		}
	})
}
