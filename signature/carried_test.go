package signature_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// letter is an innocent newsletter; its page has the same words and a link.
const letter = "Dear reader, this is the November letter of the Riverside Bookshop. On Saturday the twenty eighth Helga Winter reads " +
	"from her new novel about the lighthouse keepers of the northern islands, and there is tea and cake from six in the evening on. " +
	"Tickets cost eight euros and are sold at the counter. The children's corner has been painted and the shelves for travel literature " +
	"have moved to the first floor. Our opening hours before Christmas are longer than usual: on weekdays until eight, on Saturdays until six. " +
	"We look forward to your visit, the team of the Riverside Bookshop. "

const (
	letterText = "Content-Type: text/plain\n\n" + letter + "http://riverside-books.example.org/\n"
	letterPage = "Content-Type: text/html\n\n<p>" + letter + "<a href=http://riverside-books.example.org/>here</a></p>\n"
)

// matchesOf returns the kinds of signatures by which a report of one message lists
// another; of sketches, also weak matches.
func matchesOf(reported, asked signature.Set) (kinds []string) {
	reported = reported.ToReport()
	note := func(k signature.Kind, matches bool) {
		if name := k.String(); matches && !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	for _, s := range reported.Signatures {
		note(s.Kind, slices.Contains(asked.Signatures, s))
	}
	keyed := sketchtest.KeyedBy(7)
	for _, r := range reported.Sketches {
		for _, a := range asked.Sketches {
			note(r.Kind, r.Kind == a.Kind && slices.ContainsFunc(a.Asked(keyed), func(g signature.Group) bool {
				return slices.ContainsFunc(r.Reported(keyed), func(stored signature.Group) bool { return overlaps(g, stored) })
			}))
		}
	}
	for _, d := range reported.Domains {
		note(signature.KindDomain, slices.Contains(asked.Domains, d))
	}
	return kinds
}

func overlaps(g, stored signature.Group) bool {
	n := 0
	for _, k := range g.Keys {
		if slices.Contains(stored.Keys, k) {
			n++
		}
	}
	return g.Anchor == stored.Anchor && n >= g.Weak
}

// part returns an entity with a disposition.
func part(disposition, entity string) string {
	if disposition == "" {
		return entity
	}
	return "Content-Disposition: " + disposition + "\n" + entity
}

func zipPart(tb testing.TB, name, content string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = f.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return "Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n" + encode(b.Bytes())
}

func inBase64(message string) string {
	return "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(message))
}

// carrier is a way to carry a message whose text stands under a header of its own.
type carrier struct {
	name string
	wrap func(tb testing.TB, own, message string) string
}

func mixedWith(wrap func(message string) string) func(testing.TB, string, string) string {
	return func(_ testing.TB, own, message string) string { return multi("mixed", own, wrap(message)) }
}

var carriers = []carrier{
	{"message/rfc822", mixedWith(func(m string) string { return "Content-Type: message/rfc822\n\nSubject: x\n" + m })},
	{"attached message/rfc822", mixedWith(func(m string) string {
		return "Content-Type: message/rfc822\nContent-Disposition: attachment\n\nSubject: x\n" + m
	})},
	{"message/rfc822 in base64", mixedWith(inBase64)},
	{"message in message", mixedWith(func(m string) string {
		return "Content-Type: message/rfc822\n\nContent-Type: message/rfc822\n\n" + m
	})},
	{"digest", func(_ testing.TB, own, m string) string {
		return multi("mixed", own, multi("digest", "Content-Type: message/rfc822\n\n"+m))
	}},
	{"attachment", mixedWith(func(m string) string { return part("attachment", m) })},
	{"inline part", mixedWith(func(m string) string { return part("inline", m) })},
	{"later part", mixedWith(func(m string) string { return m })},
	{"part of related", func(_ testing.TB, own, m string) string { return multi("related", own, m) }},
	{"part before the start of related", func(_ testing.TB, own, m string) string {
		return strings.Replace(multi("related", m, "Content-ID: <s@x>\n"+own), "multipart/related;", `multipart/related; start="<s@x>";`, 1)
	}},
	{"part of a part", mixedWith(func(m string) string { return bounded("p", multi("mixed", m)) })},
	{"archive", func(tb testing.TB, own, m string) string { return multi("mixed", own, zipPart(tb, "letter.eml", m)) }},
	{"file", mixedWith(func(m string) string {
		return "Content-Type: application/octet-stream\nContent-Disposition: attachment; filename=letter.eml\n\n" + m
	})},
	{"reported", func(_ testing.TB, own, m string) string {
		return multi("report", own, "Content-Type: message/delivery-status\n\nAction: failed", "Content-Type: message/rfc822\n\n"+m)
	}},
	{"hidden alternative", func(_ testing.TB, own, m string) string {
		return multi("alternative", m, "Content-Type: text/html\n\n<p>"+strings.TrimPrefix(own, "\n")+"</p>")
	}},
}

// spamBodies are the texts that the spam itself shows.
func spamBodies(tb testing.TB) map[string]string {
	return map[string]string{
		"nothing":     "\n",
		"no letters":  "\n+++ 123 http://192.0.2.1/\n",
		"three words": "\nWin money today\n",
		"a text":      "\n" + strings.TrimPrefix(prose, "\n"),
		"a picture":   multi("related", "Content-Type: text/html\n\n<img src=cid:a>", strings.TrimPrefix(imagePart("Content-ID: <a>\n", pageImage(tb)), "--b\n")),
	}
}

// bounded changes the boundaries of multi, so that the entity may stand in another one.
func bounded(name, entity string) string { return strings.ReplaceAll(entity, "in-", name+"-in-") }

func boundaryOf(body []byte) string {
	line, _, _ := bytes.Cut(body, []byte("\n"))
	return strings.TrimPrefix(strings.TrimSpace(string(line)), "--")
}

// A letter is not listed if the spam shows its beginning and carries the rest, and
// neither if the spam has no other text.
func TestDividedMessageIsNotListed(t *testing.T) {
	alone := signature.Compute(signature.Parse([]byte(letterText)))
	for name, raw := range map[string]string{
		"divided":                 multi("mixed", "\n"+letter[:25], "\n"+letter[25:]+"http://riverside-books.example.org/\n"),
		"divided by a message":    multi("mixed", "\n"+letter[:25], "Content-Type: message/rfc822\n\n\n"+letter[25:]),
		"nothing around":          "Content-Type: message/rfc822\n\nSubject: x\n" + letterText,
		"nothing around, encoded": inBase64(letterText),
	} {
		if kinds := matchesOf(signature.Compute(signature.Parse([]byte(raw))), alone); len(kinds) > 0 {
			t.Errorf("%s: the letter is listed by %v", name, kinds)
		}
	}
}

// Of an alternative without HTML, readers show the last branch that they can show. A
// letter in another branch is not listed, and neither is a letter in a file.
func TestAlternativeWithoutHTMLIsNotListed(t *testing.T) {
	long := letter + strings.ReplaceAll(letter, "November", "December") + "\nhttp://riverside-books.example.org/\n" // over 1 KiB
	plain, offered := "Content-Type: text/plain\n\n"+long, "Content-Type: text/plain\n\nWin money today\n"
	alone := signature.Compute(signature.Parse([]byte(plain)))
	for name, raw := range map[string]string{
		"before a picture":   multi("alternative", plain, "Content-Type: image/png\n\nWin money today\n"),
		"before XHTML":       multi("alternative", plain, "Content-Type: application/xhtml+xml\n\n<p>Win money today"),
		"before plain text":  multi("alternative", plain, offered),
		"of an unknown type": multi("alternative", offered, "Content-Type: text/foo\n\n"+long),
		"in a file":          multi("mixed", "\n", part("attachment", plain)),
		"in a file alone":    part("attachment", plain),
	} {
		if kinds := matchesOf(signature.Compute(signature.Parse([]byte(raw))), alone); len(kinds) > 0 {
			t.Errorf("%s: the letter is listed by %v", name, kinds)
		}
	}
}

// Spam that has its text in a part that it carries is listed, with near-duplicates that
// carry it in the same way. It is also found by the report of a mail with that text as
// its body.
func TestCarriedSpamIsFound(t *testing.T) {
	varied := strings.Replace(letterText, "November", "December", 1)
	for bodyName, own := range spamBodies(t) {
		if bodyName == "a text" || bodyName == "a picture" {
			continue // the test of those has them
		}
		for _, c := range carriers {
			inText := !slices.Contains([]string{"attachment", "archive", "file", "reported", "hidden alternative"}, c.name)
			if !inText {
				continue
			}
			raw, other := c.wrap(t, bounded("o", own), letterText), c.wrap(t, bounded("o", own), varied)
			spam, near := signature.Compute(signature.Parse([]byte(raw))), signature.Compute(signature.Parse([]byte(other)))
			if kinds := matchesOf(spam, near); !slices.Contains(kinds, "sketch") {
				t.Errorf("%s, text as %s: a near-duplicate is listed by %v", bodyName, c.name, kinds)
			}
			if kinds := matchesOf(spam, spam); !slices.Contains(kinds, "text") || !slices.Contains(kinds, "body") {
				t.Errorf("%s, text as %s: the same is listed by %v", bodyName, c.name, kinds)
			}
			if kinds := matchesOf(signature.Compute(signature.Parse([]byte(letterText))), near); !slices.Contains(kinds, "sketch") {
				t.Errorf("%s, text as %s: by a report of the text alone, it is listed by %v", bodyName, c.name, kinds)
			}
		}
	}
}

// A part of a digest is an attached message, also without a type (RFC 2046 section 5.1.5): its text
// is read, and no message with that text as its body is listed.
func TestDigestOfInnocentMessage(t *testing.T) {
	encoded := "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + encode([]byte(letter))
	for _, letter := range []string{letterText, encoded} {
		innocent := signature.Compute(signature.Parse([]byte(letter)))
		spam := signature.Compute(signature.Parse([]byte(multi("digest", "\n"+letter, "\nSubject: x\n\n"+prose))))
		if kinds := matchesOf(spam, innocent); len(kinds) > 0 {
			t.Errorf("the letter is listed by %v:\n%s", kinds, letter)
		}
		if kinds := matchesOf(innocent, spam); !slices.Contains(kinds, "sketch") {
			t.Errorf("a digest with a spam is listed by %v:\n%s", kinds, letter)
		}
	}
}

// A file is listed wherever it is a message's own, and separately in attached messages.
func TestCarriedFileIsFound(t *testing.T) {
	payload := file("MZ this is a program that nobody wants to run ")
	direct := signature.Compute(signature.Parse([]byte(multi("mixed", "\nsee this", payload))))
	other := signature.Compute(signature.Parse([]byte(multi("mixed", "\nanother word", payload))))
	if kinds := matchesOf(direct, other); !slices.Contains(kinds, "attachment") {
		t.Errorf("a file of the message itself is listed by %v", kinds)
	}
	inMessage := func(own string) signature.Set {
		return signature.Compute(signature.Parse([]byte(multi("mixed", "\n"+own, "Content-Type: message/rfc822\n\n"+bounded("i", multi("mixed", "\nopen it", payload))))))
	}
	if kinds := matchesOf(inMessage("one"), inMessage("two")); !slices.Contains(kinds, "attachment") {
		t.Errorf("a file of an attached message is listed by %v", kinds)
	}
	if kinds := matchesOf(inMessage("one"), direct); len(kinds) > 0 {
		t.Errorf("a file of an attached message lists the message with that file, by %v", kinds)
	}
	// The sketch of an image in an attached message, beside no text, is marked, too.
	withImage := func(own string) signature.Set {
		return signature.Compute(signature.Parse([]byte(multi("mixed", "\n"+own, "Content-Type: message/rfc822\n\n"+bounded("i", multi("mixed", "\n", strings.TrimPrefix(imagePart("", pageImage(t)), "--b\n")))))))
	}
	if kinds := matchesOf(withImage("one"), withImage("two")); !slices.Contains(kinds, "image") {
		t.Errorf("an image of an attached message is listed by %v", kinds)
	}
}

// The text of an attached message does not prevent the picture of a spam from being
// signed.
func TestCarriedTextShieldsNoPicture(t *testing.T) {
	spam := func(attached string) signature.Set {
		return signature.Compute(signature.Parse([]byte(multi("mixed", bounded("o", spamBodies(t)["a picture"]), "Content-Type: message/rfc822\n\n"+attached))))
	}
	if kinds := matchesOf(spam(letterText), spam("\n"+ampleProse)); !slices.Contains(kinds, "image") {
		t.Errorf("with another text attached, the picture is listed by %v", kinds)
	}
}

// Carried text, hidden text and text that is both are three texts. With the same text in
// a body, there are three sketches. Text that is carried beside hidden text is found by
// the report of a mail with it as its body.
func TestCarriedAndHidden(t *testing.T) {
	hides := "<div style='display:none'>" + ampleProse + "</div>"
	page := func(content string) string { return "Content-Type: text/html\n\n" + content }
	both := signature.Compute(signature.Parse([]byte(multi("mixed", "\nWin money today\n", strings.Replace(letterPage, "<p>", hides+"<p>", 1)))))
	if len(both.Sketches) != 3 {
		t.Errorf("%d sketches, want 3", len(both.Sketches))
	}
	if kinds := matchesOf(both, both); !slices.Contains(kinds, "sketch") || !slices.Contains(kinds, "text") {
		t.Errorf("the same is listed by %v", kinds)
	}
	if kinds := matchesOf(signature.Compute(signature.Parse([]byte(letterText))), both); !slices.Contains(kinds, "sketch") {
		t.Errorf("by a report of what it carries, it is listed by %v", kinds)
	}
	for name, entity := range map[string]string{
		"the letter":          letterText,
		"the hidden text":     page("<p>" + ampleProse),
		"hidden in a body":    page("<p>Win money today</p>" + hides),
		"carried, not hidden": multi("mixed", "\nWin money today\n", page("<p>"+ampleProse)),
	} {
		if kinds := matchesOf(both, signature.Compute(signature.Parse([]byte(entity)))); len(kinds) > 0 {
			t.Errorf("%s is listed by %v", name, kinds)
		}
	}
}

// A letter behind more parts than are read one by one is carried, too.
func TestLetterBehindManyParts(t *testing.T) {
	alone := signature.Compute(signature.Parse([]byte("Subject: x\n" + letterText)))
	for _, n := range []int{4_000, 4_200, 50_001} {
		for _, own := range []string{"\n", "\nWin money today\n", "\n" + prose} {
			raw := "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + own + "\n" + strings.Repeat("--b\n\n-\n", n) + "--b\n" + letterText + "\n--b--\n"
			spam := signature.Compute(signature.Parse([]byte(raw)))
			if kinds := matchesOf(spam, alone); len(kinds) > 0 {
				t.Errorf("spam of %.20q carries a letter behind %d parts: it is listed by %v", own, n, kinds)
			}
			if kinds := matchesOf(alone, spam); !slices.Contains(kinds, "sketch") && own != "\n"+prose {
				t.Errorf("a reported letter behind %d parts and %.20q is found by %v", n, own, kinds)
			}
		}
	}
}
