package signature_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/sketch"
)

// FuzzCompute signs any bytes: the result is within bounds, the same each time, and the
// same for copies with other line ends.
func FuzzCompute(f *testing.F) {
	addFiles(f, "testdata/*.eml")
	addFiles(f, "testdata/guard/*.eml")
	for _, s := range []string{
		"Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: (x) base64\n\n" + encoded("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x80\x24\x80\x04\x0aa: b\n\nword\x04\x02s."),
		multi("alternative", "\nhi", "Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REQUEST\nDESCRIPTION;X=\"a:b\":"+loanOffer),
		"Content-Type: text/plain; format=flowed; delsp=yes\n\n" + loanOffer + " \n> quoted \n> words \n",
		"Content-Type: multipart (x) / mixed; boundary=\"a\\b\" (y); boundary=c d\n\n--a\\b\n\n" + loanOffer + "\n--ab\n\nx\n--c\n\ny",
		multi("report", "\n"+loanOffer, "Content-Type: message/delivery-status\n\n"),
		multi("mixed", "\nsee below", "Content-Type: image/svg+xml\n\n<svg><text>"+loanOffer, "Content-Type: application/x-a\n\n"+loanOffer),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := signature.Parse(raw)
		body := bytes.Clone(m.Body)
		got := signature.Compute(m)
		if again := signature.Compute(signature.Parse(raw)); !reflect.DeepEqual(got, again) {
			t.Fatalf("second time: got %v, first %v", again, got)
		}
		if !bytes.Equal(m.Body, body) {
			t.Fatal("Compute changed the body")
		}
		if text := signature.Text(m); len(text) > maxText || (text == "") != (len(ofKind(got, signature.KindText)) == 0) {
			t.Fatalf("text of %d bytes for signatures %v", len(text), got)
		}
		checkSet(t, got, false)
		checkLineEnds(t, raw)
		m.Truncated = true
		checkSet(t, signature.Compute(m), m.Truncated)
		for _, inner := range signature.Attached(m) {
			checkSet(t, signature.Compute(inner), inner.Truncated)
		}
	})
}

// checkLineEnds checks that LF and CRLF copies of a message, and the messages attached to
// them, have the same signatures.
func checkLineEnds(t *testing.T, raw []byte) {
	t.Helper()
	normal := bytes.ReplaceAll(raw, []byte("\r"), nil)
	lf, crlf := signature.Parse(normal), signature.Parse(bytes.ReplaceAll(normal, []byte("\n"), []byte("\r\n")))
	if a, b := signature.Compute(lf), signature.Compute(crlf); !reflect.DeepEqual(a, b) {
		t.Fatalf("LF gives %v, CRLF %v", a, b)
	}
	a, b := signature.Attached(lf), signature.Attached(crlf)
	if len(a) != len(b) {
		t.Fatalf("%d messages attached with LF, %d with CRLF", len(a), len(b))
	}
	for i := range a {
		if a, b := signature.Compute(a[i]), signature.Compute(b[i]); !reflect.DeepEqual(a, b) {
			t.Fatalf("message %d attached: LF gives %v, CRLF %v", i, a, b)
		}
	}
}

// checkSet checks that the set of a message, which may be truncated, is within the bounds that its fields promise.
func checkSet(t *testing.T, set signature.Set, isTruncated bool) {
	t.Helper()
	if len(set.Signatures) > 3+2*maxAttachments {
		t.Fatalf("%d signatures", len(set.Signatures))
	}
	for i, s := range set.Signatures {
		if slices.Contains(set.Signatures[:i], s) {
			t.Fatalf("%s twice", s.ID())
		}
	}
	if len(set.Counting) > 1 || len(set.Counting) == 0 != (len(set.Signatures) == 0) || len(set.Counting) == 1 && !slices.Contains(set.Signatures, set.Counting[0]) {
		t.Fatalf("counted by %v, signed by %v", set.Counting, set.Signatures)
	}
	if len(set.Domains) > maxDomains || slices.Contains(set.Domains, "") || len(slices.Compact(slices.Sorted(slices.Values(set.Domains)))) != len(set.Domains) {
		t.Fatalf("domains %q", set.Domains)
	}
	if len(set.Sketches) > 2*(1+maxPictures) || len(set.Sketches) > 0 && len(set.Signatures) == 0 && !isTruncated {
		t.Fatalf("%d sketches beside %d signatures", len(set.Sketches), len(set.Signatures))
	}
	for _, s := range set.Sketches {
		checkSketch(t, s)
	}
}

// checkSketch checks that a sketch has no more features than words, by position, and that
// a report and a check of it have no more groups than they may.
func checkSketch(t *testing.T, s signature.Sketch) {
	t.Helper()
	byPos := func(a, b signature.Feature) int { return int(a.Pos) - int(b.Pos) }
	if max(len(s.Anchors), len(s.Keys)) > sketch.MaxWords || !slices.IsSortedFunc(s.Anchors, byPos) || !slices.IsSortedFunc(s.Keys, byPos) {
		t.Fatalf("%d anchors, %d keys, or in disorder", len(s.Anchors), len(s.Keys))
	}
	keyed := func(h uint64) uint64 { return digest.Mix(h ^ 0x5eed) }
	reported, asked := s.Reported(keyed), s.Asked(keyed)
	if len(reported) > candidates || len(asked) > signature.MaxAsked || s.AskOnly && len(reported) > 0 {
		t.Fatalf("%d groups reported, %d asked", len(reported), len(asked))
	}
	for _, g := range reported {
		ofSeveral := s.Kind == signature.KindShape // reports match together
		if len(g.Keys) > storedKeys || len(g.Keys) < g.Weak && !ofSeveral || g.Weak > g.Need {
			t.Fatalf("group of %d keys reported, %d needed, weakly %d", len(g.Keys), g.Need, g.Weak)
		}
	}
	for _, g := range asked {
		if g.Need < 1 || g.Weak < 1 || g.Weak > g.Need || len(g.Keys) < g.Weak {
			t.Fatalf("group of %d keys asked, %d needed, weakly %d", len(g.Keys), g.Need, g.Weak)
		}
	}
}

// addFiles adds files as seeds.
func addFiles(f *testing.F, pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatalf("no files %s: %v", pattern, err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
}
