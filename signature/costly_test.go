package signature_test

import (
	"bytes"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// scale divides the sizes of hostile messages. The race detector makes each byte some ten times
// as expensive, and size adds no races.
var scale = map[bool]int{false: 1, true: 8}[testenv.Race]

// The tests that sign the most bytes. Signing starts no goroutine.

// The cost of a message is bounded by its size, and so is what signs it; the largest image
// sketches reach their bound. The test counts steps and memory, not time. The log has the time, by which
// TestSearch finds work that is not counted.
func TestWork(t *testing.T) {
	testenv.Servers(t)
	if testenv.RanWithoutRace(t) {
		return
	}
	all, largest := everyHostile(t), 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		raw := all[name]
		m := signature.Parse(raw)
		before, made := cpu(), allocated()
		set, spent := signature.ComputeSteps(m, nil, 0)
		took, steps := float64(cpu()-before), spent.Total()
		made = allocated() - made
		largest += checkBounds(t, name, set)
		t.Logf("%-40s %9d bytes: %6.1f ns a byte, %5.1f steps a byte, %5.1f ns a step, %5.1f bytes made a byte", name, len(raw),
			took/float64(len(raw)), float64(steps)/float64(len(raw)), took/float64(steps), float64(made)/float64(len(raw)))
		if most := boundOfMessage + boundOfByte*len(raw); steps > most {
			t.Errorf("%s: %d steps for %d bytes, want at most %d", name, steps, len(raw), most)
		}
		if most := uint64(32<<20 + 100*len(raw)); made > most { // work that is not counted makes copies again and again
			t.Errorf("%s: %d bytes were made for %d bytes, want at most %d", name, made, len(raw), most)
		}
	}
	if largest == 0 {
		t.Error("no image has as many features as images may have")
	}
}

// allocated returns the bytes of memory that were ever made.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// The report of a spam that carries an innocent message lists the spam and not the
// message, whatever the spam shows and however it carries the message.
func TestCarriedMessageIsNotListed(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	pdf, err := os.ReadFile("testdata/74-pdf.eml")
	testenv.Check(t, err)
	_, pdf, _ = bytes.Cut(pdf, []byte("\n\n"))
	innocents := map[string]string{
		"text":          letterText,
		"page":          letterPage,
		"hiding page":   strings.Replace(letterPage, "<p>", "<div style='display:none'>"+offer+"</div><p>", 1),
		"alternative":   bounded("i", multi("alternative", letterText, letterPage)),
		"with a file":   bounded("i", multi("mixed", letterText, file("the programme of the winter months"))),
		"with pictures": bounded("i", multi("related", letterPage, strings.TrimPrefix(imagePart("Content-ID: <p>\n", pageImage(t)), "--b\n"))),
		"a picture":     bounded("i", multi("related", "Content-Type: text/html\n\n<img src=cid:p>", strings.TrimPrefix(imagePart("Content-ID: <p>\n", pageImage(t)), "--b\n"))),
		"with a PDF":    bounded("i", "Content-Type: multipart/mixed; boundary=pdf\n\n"+strings.ReplaceAll(string(pdf), "--"+boundaryOf(pdf), "--pdf")),
	}
	// A spam that brings another's file or picture as its own lists that file or picture.
	ownFile := map[string]bool{"with a file": true, "with pictures": true, "a picture": true, "with a PDF": true}
	attachesFile := map[string]bool{"attachment": true, "inline part": true, "later part": true, "part of related": true, "part before the start of related": true, "part of a part": true, "hidden alternative": true}
	for bodyName, own := range spamBodies(t) {
		for innocentName, innocent := range innocents {
			if bodyName == "a picture" && strings.Contains(innocentName, "picture") {
				continue // the same picture
			}
			alone := signature.Compute(signature.Parse([]byte(innocent)))
			if len(alone.Signatures) == 0 {
				t.Fatalf("%s: not signed", innocentName)
			}
			for _, c := range carriers {
				if c.name == "hidden alternative" && bodyName == "a picture" {
					continue // no alternative of text
				}
				spam := signature.Compute(signature.Parse([]byte(c.wrap(t, bounded("o", own), innocent))))
				kinds := matchesOf(spam, alone)
				if ownFile[innocentName] && attachesFile[c.name] {
					kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "attachment" || k == "content" || k == "image" })
				}
				if len(kinds) > 0 {
					t.Errorf("spam of %s carries a letter (%s) as %s: the letter is listed by %v", bodyName, innocentName, c.name, kinds)
				}
			}
		}
	}
}

// A milter keeps only the beginning of a large message. Its text signature is that of the
// whole message, with any line ends.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	text := "Content-Type: text/plain\n\n" + ampleProse
	footer := "Content-Type: text/plain\n\nYou get this because you are on our list.\n"
	for name, raw := range map[string]string{
		"footer behind a file":         multi("mixed", text, file(strings.Repeat("x", 5<<8)), footer),
		"HTML behind a file":           multi("alternative", text, file(strings.Repeat("x", 5<<8)), "Content-Type: text/html\n\n"+brand),
		"file behind a picture":        multi("mixed", "\n"+prose, image("Content-ID: <x>\n")+strings.Repeat("A", 3<<19), file("x")),
		"file that is cut":             multi("mixed", "\n"+prose, file(strings.Repeat("x", 5<<8))),
		"footer in an encoded message": multi("mixed", text, file(strings.Repeat("x", 5<<8)), "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"+encoded("Subject: x\n\nfooter")),
	} {
		for _, raw := range []string{raw, toCRLF(raw)} {
			whole := signature.Parse([]byte(raw))
			cut := whole
			cut.Body, cut.Truncated = cut.Body[:5<<18], true
			if got, want := signature.Text(cut), signature.Text(whole); got != want {
				t.Errorf("%s: the beginning has the text %q, the whole %q", name, got, want)
			}
		}
	}
	// CR does not matter at the limit.
	seen := make(map[string]bool)
	for n := maxReach - 1200; n < maxReach; n += 200 {
		raw := multi("mixed", text, "Content-Type: application/x-filler\n\n"+strings.Repeat("12\n", n/3), footer)
		a, b := signature.Text(signature.Parse([]byte(raw))), signature.Text(signature.Parse([]byte(toCRLF(raw))))
		if a != b {
			t.Errorf("a part behind %d bytes: LF gives %q, CRLF %q", n, a, b)
		}
		seen[a] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d texts around the border, want one with the footer and one without", len(seen))
	}
}
