package signature_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
	"github.com/spambloom/spambloom/signature/work"
)

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

// After stopped attempts, the signatures, limits and steps are those of one attempt.
func TestStoppedUnpacking(t *testing.T) {
	mails, err := filepath.Glob("testdata/7*.eml")
	if err != nil || len(mails) != 6 {
		t.Fatalf("%d mails with images and archives, %v", len(mails), err)
	}
	computed := func(m signature.Message, u signature.Unpacking) (signature.Set, int) {
		set, steps := signature.ComputeSteps(m, u, 0)
		return set, steps.Total()
	}
	for _, mail := range mails {
		raw, err := os.ReadFile(mail)
		testenv.Check(t, err)
		want, steps := computed(signature.Parse(raw), nil)
		for stops := range 4 {
			b := brokenOff{stops: stops}
			got, gotSteps := computed(signature.Parse(raw), b.take)
			if !reflect.DeepEqual(got, want) || gotSteps != steps {
				t.Errorf("%s stopped %d times: %+v in %d steps, want %+v in %d", mail, stops, got, gotSteps, want, steps)
			}
			if b.calls != stops+1 || b.held != 0 {
				t.Errorf("%s stopped %d times: asked for a slot %d times, %d held at the end", mail, stops, b.calls, b.held)
			}
		}
	}
}

// A message without images and archives needs no slot, and one that panics returns its
// slot.
func TestSlotsOfUnpacking(t *testing.T) {
	var b brokenOff
	if signature.ComputeWith(signature.Parse([]byte("Subject: x\n\n"+prose)), b.take, nil); b.calls != 0 {
		t.Errorf("a text asked for %d slots", b.calls)
	}
	func() {
		defer func() { _ = recover() }()
		signature.Unpack(b.take, func(*work.Steps, func() bool) { panic("a decoder") })
	}()
	if b.calls != 1 || b.held != 0 {
		t.Errorf("after a panic %d of %d slots are held", b.held, b.calls)
	}
}

// Wherever unpacking is stopped, the next attempt has the result of a single attempt.
func TestStoppedAnywhere(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	text := archivetest.Random(3, 60<<10)
	files := [][]byte{
		archivetest.Zip(t, archivetest.File("a.txt", text), archivetest.File("b.txt", text[:5000])),
		archivetest.Gzip(t, "a", archivetest.Tar(t, archivetest.File("a.txt", text))),
		archivetest.PDF("/Filter /FlateDecode", archivetest.Deflate(t, text), ""),
	}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SampledFrom(files).Draw(t, "file")
		at := rapid.IntRange(0, 60).Draw(t, "question at which it stops")
		stop := make(chan struct{})
		calls, asked := 0, 0
		take := func() (<-chan struct{}, func()) {
			if calls++; calls > 1 {
				return nil, func() {}
			}
			return stop, func() {}
		}
		var got signature.Digest
		signature.Unpack(take, func(w *work.Steps, isStopped func() bool) {
			u := archive.Unpacker{Work: w, IsStopped: func() bool {
				if asked++; asked == at {
					close(stop)
				}
				return isStopped()
			}}
			got, _ = u.Digest(content)
		})
		whole := archive.Unpacker{IsStopped: func() bool { return false }}
		want, _ := whole.Digest(content)
		if got != want || calls > 2 {
			t.Fatalf("after %d questions and %d attempts %x, want %x", asked, calls, got, want)
		}
	})
}

// Signing that is stopped costs no more than decoding one part and sketching what was
// read so far. It does not unpack.
func TestStoppedSigning(t *testing.T) {
	sheet := "Content-Type: text/html\n\n<style>" + strings.Repeat("b i p{top:0}", 65<<10/12) + "</style>" + strings.Repeat("<p>x ", 1<<20/5)
	archive := "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + prose + "\n--b\n" + zipPart(t, "a.txt", ampleProse) + "\n--b--\n"
	nested := strings.Repeat("Content-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n", 4) + prose + strings.Repeat(">\n", 1<<19)
	for name, raw := range map[string]string{"style sheet": sheet, "archive": archive, "nested": nested} {
		m := signature.Parse([]byte(raw))
		steps := signature.ComputeStopped(m)
		if most := 4*len(raw) + 1<<20; steps.Total() > most {
			t.Errorf("%s: %d steps after the stop, at most %d", name, steps.Total(), most)
		}
		if _, whole := signature.ComputeSteps(m, nil, 0); name != "archive" && whole.Total() < 8*steps.Total() {
			t.Errorf("%s: %d steps after the stop, %d without it", name, steps.Total(), whole.Total())
		}
	}
}
