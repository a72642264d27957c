package signature_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// line draws a line of a message: prose, or something that a mailbox or a parser may
// misread.
func line(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z ,.]{0,70}`),
		rapid.StringMatching(`>{0,3}From [a-z ]{0,20}`),
		rapid.SampledFrom([]string{"", "", ">", "> quoted", "--", "--b", "-- ", "=", "caf\u00e9 \u00fc", "Content-Type: text/html", "<p hidden>a</p>"}),
	).Draw(t, "line")
}

func lines(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.Custom(line), 0, 20).Draw(t, "lines"), "\n") + "\n" + prose
}

// tree draws a message or a part, header included, of any depth up to depth.
func tree(t *rapid.T, depth int) string {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		kind := rapid.SampledFrom([]string{"text/plain", "text/html; charset=iso-8859-1", "application/pdf", "text/plain; charset=utf-8\nContent-Disposition: attachment"}).Draw(t, "kind")
		return "Content-Type: " + kind + "\n\n" + lines(t)
	}
	kind := rapid.SampledFrom([]string{"mixed", "alternative", "related"}).Draw(t, "multipart")
	boundary := rapid.StringMatching(`B[a-z]{3,6}`).Draw(t, "boundary")
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: multipart/%s; boundary=%s\n\n", kind, boundary)
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		fmt.Fprintf(&b, "--%s\n%s\n", boundary, tree(t, depth-1))
	}
	if rapid.Bool().Draw(t, "closed") {
		fmt.Fprintf(&b, "--%s--\n", boundary)
	}
	return b.String()
}

func toCRLF(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// mailboxCopy returns a message as an mbox stores it: quoted From lines, lines added at
// both ends, trace fields.
func mailboxCopy(raw string) string {
	var quoted []string
	for line := range strings.SplitSeq(raw, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, ">"), "From ") {
			line = ">" + line
		}
		quoted = append(quoted, line)
	}
	return "From a@b.example Sat Nov 21 03:00:00 2026\nReceived: from a\n\tby b\n" + strings.Join(quoted, "\n") + "\n\n"
}

func TestCopiesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := "Subject: the bridge\n" + tree(t, 3) // without such a field only the mailbox copy would have a header
		want := signature.Compute(signature.Parse([]byte(raw)))
		for name, other := range map[string]string{"CRLF": toCRLF(raw), "mailbox": mailboxCopy(raw), "mailbox with CRLF": toCRLF(mailboxCopy(raw))} {
			if got := signature.Compute(signature.Parse([]byte(other))); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s copy of %q: got %v, want %v", name, raw, got, want)
			}
		}
	})
}

func TestEncodingsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := lines(t)
		head := "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: "
		want := signature.Compute(signature.Parse([]byte(head + "8bit\n\n" + text)))

		var qp bytes.Buffer
		w := quotedprintable.NewWriter(&qp)
		io.WriteString(w, text)
		w.Close()
		for encoding, body := range map[string]string{
			"base64":           base64.StdEncoding.EncodeToString([]byte(toCRLF(text))),
			"quoted-printable": qp.String(),
		} {
			if got := signature.Compute(signature.Parse([]byte(head + encoding + "\n\n" + body))); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %q: got %v, want %v", encoding, text, got, want)
			}
		}
	})
}

// Any change to a word changes both the text and the body signature.
func TestChangesShow(t *testing.T) {
	words := strings.Fields(prose)
	rapid.Check(t, func(t *rapid.T) {
		changed := append([]string(nil), words...)
		i := rapid.IntRange(0, len(words)-1).Draw(t, "word")
		changed[i] = rapid.StringMatching(`[a-z]{5,10}q`).Draw(t, "instead")
		a := signature.Compute(signature.Parse([]byte("\n" + strings.Join(words, " "))))
		b := signature.Compute(signature.Parse([]byte("\n" + strings.Join(changed, " "))))
		for _, s := range a.Signatures {
			for _, other := range b.Signatures {
				if s == other {
					t.Fatalf("%s is the same after changing %q to %q", s.Kind, words[i], changed[i])
				}
			}
		}
	})
}

func TestTruncated(t *testing.T) {
	pdf := strings.Repeat("pdf ", minAttachment)
	raw := "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + ampleProse + "\n--b\nContent-Type: application/pdf\n\n" + pdf + "\n--b\nContent-Type: application/zip\n\n" + pdf + "more"
	whole := signature.Parse([]byte(raw + pdf))
	cut := signature.Parse([]byte(raw))
	cut.Truncated = true
	if got := kinds(signature.Compute(whole)); got != "body text attachment attachment" {
		t.Fatalf("whole message signed by %q", got)
	}
	got := signature.Compute(cut)
	if kinds(got) != "text attachment" {
		t.Fatalf("cut message signed by %q, want text and the attachment before the cut", kinds(got))
	}
	if !reflect.DeepEqual(got.Signatures, signature.Compute(whole).Signatures[1:3]) {
		t.Errorf("parts before the cut have other signatures than in the whole message")
	}

	// The HTML part is cut, so all that a reader would see is unknown. What is known is looked up.
	alternative := signature.Parse([]byte("Content-Type: multipart/alternative; boundary=b\n\n--b\n\n" + prose + "\n--b\nContent-Type: text/html\n\n<p>" + prose))
	alternative.Truncated = true
	if got := signature.Compute(alternative); len(got.Signatures) > 0 {
		t.Errorf("alternative with a cut HTML part signed by %q", kinds(got))
	}
}

// A part that is cut itself is looked up as far as it is known: padding behind a reported text, in the same part,
// would hide it otherwise. A report lists nothing of it.
func TestTruncatedText(t *testing.T) {
	const page = "Content-Type: text/html\n\n<html><p>" + prose
	inner := "Subject: x\n" + page
	for name, raw := range map[string]string{
		"plain":               "\n" + prose + strings.Repeat("\n", 1000),
		"an answer":           "In-Reply-To: <x@a.example>\n\n" + prose + strings.Repeat("\n", 1000),
		"mail of a list":      "List-Id: <x.example>\n\n" + prose + strings.Repeat("\n", 1000),
		"a comment":           page + "<!-- " + strings.Repeat("x ", 500),
		"a style sheet":       page + "<style>" + strings.Repeat(".a{color:red}", 100),
		"base64":              "Content-Transfer-Encoding: base64\n\n" + encoded(prose+strings.Repeat("\n", 1000)),
		"an alternative":      multi("alternative", "\n"+prose, page+"<!-- "),
		"an attached message": "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + encoded(inner+"<!-- "+strings.Repeat("x ", 500)),
		"a table":             "Content-Type: text/csv\n\n" + prose + strings.Repeat("\n", 1000),
		"a calendar":          "Content-Type: text/calendar\n\nBEGIN:VEVENT\nDESCRIPTION:" + strings.ReplaceAll(prose, "\n", " ") + "\n" + strings.Repeat("\n", 1000),
	} {
		m := signature.Parse([]byte(strings.TrimSuffix(raw, "--in-alternative--\n")))
		m.Truncated = true
		got := signature.Compute(m)
		if len(got.Signatures) > 0 || len(got.Sketches) == 0 {
			t.Errorf("%s: signed by %q, %d sketches", name, kinds(got), len(got.Sketches))
		}
		for _, s := range got.Sketches {
			if !s.AskOnly {
				t.Errorf("%s: a report lists a sketch of kind %v", name, s.Kind)
			}
		}
	}

	// The beginning of a delimiter or field is no text.
	short := "Content-Type: multipart/mixed; boundary=boundary\n\n--boundary\n\nthe golden harbour freezes at midnight http://pills.test.org/\n"
	want := signature.Compute(signature.Parse([]byte(short + "--boundary--\n"))).Signatures
	for _, end := range []string{"--boundary\n\n\n--bound", "--boundary\nContent-Ty"} {
		cut := signature.Parse([]byte(short + end))
		cut.Truncated = true
		if got := signature.Compute(cut).Signatures; len(want) != 2 || len(got) != 1 || got[0] != want[1] {
			t.Errorf("cut within %q: %v, want the phrase of %v", end, got, want)
		}
	}
}

func TestAttached(t *testing.T) {
	inner := "Subject: inner\nContent-Type: text/plain\n\n" + prose
	deep := "Content-Type: message/rfc822\n\n" + inner
	raw := "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee below\n--b\nContent-Type: message/rfc822\n\n" + deep +
		"\n--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(inner)) + "\n--b--\n"
	got := signature.Attached(signature.Parse([]byte(raw)))
	if len(got) != 2 {
		t.Fatalf("%d messages attached, want 2", len(got))
	}
	want := signature.Compute(signature.Parse([]byte(inner)))
	inmost := signature.Attached(got[0])
	if len(inmost) != 1 || inmost[0].Header[0].Value != "inner" {
		t.Fatalf("message in message: got %v", inmost)
	}
	for i, m := range []signature.Message{inmost[0], got[1]} {
		if !reflect.DeepEqual(signature.Compute(m), want) {
			t.Errorf("message %d: signatures differ from those of the message sent alone", i)
		}
	}
	if got := signature.Attached(signature.Parse([]byte(inner))); got != nil {
		t.Errorf("a message without attachments has attached %v", got)
	}
}

// Messages that a mail system returned or a list bundled are not attached.
func TestAttachedByNobody(t *testing.T) {
	const inner = "Content-Type: message/rfc822\n\nSubject: innocent\n\n" + prose
	for _, tt := range []struct {
		name, raw string
		want      int
	}{
		{"forwarded", "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + inner + "\n--b--\n", 1},
		{"forwarded alone", inner, 1},
		{"bounce", "Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\nsorry\n--b\n" + inner + "\n--b--\n", 0},
		{"digest", "Content-Type: multipart/digest; boundary=b\n\n--b\n" + inner + "\n--b\n" + inner + "\n--b--\n", 0},
		{"digest with a footer", "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/digest; boundary=b\n\n--b\n" + inner + "\n--b--\n--a\n\nfooter\n--a--\n", 0},
		{"forwarded bounce", "Content-Type: message/rfc822\n\nContent-Type: multipart/report; boundary=b\n\n--b\n" + inner + "\n--b--\n", 1},
	} {
		if got := signature.Attached(signature.Parse([]byte(tt.raw))); len(got) != tt.want {
			t.Errorf("%s: %d messages attached, want %d", tt.name, len(got), tt.want)
		}
	}
}

func TestCounting(t *testing.T) {
	file := "Content-Type: application/pdf\n\n" + strings.Repeat("pdf ", minAttachment)
	cut := signature.Parse([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n" + file + "\n--b\n"))
	cut.Truncated = true
	for _, tt := range []struct {
		name string
		m    signature.Message
		want signature.Kind
	}{
		{"text", signature.Parse([]byte("\n" + prose)), signature.KindText},
		{"no text", signature.Parse([]byte(file)), signature.KindBody},
		{"no text, cut", cut, signature.KindAttachment},
	} {
		if got := signature.Compute(tt.m).Counting; len(got) != 1 || got[0].Kind != tt.want {
			t.Errorf("%s: counted by %v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestSignsAttachment(t *testing.T) {
	for _, tt := range []struct {
		mediaType, content string
		want               bool
	}{
		{"application/pdf", strings.Repeat("x", minAttachment), true},
		{"application/pdf", strings.Repeat("x", minAttachment-1), false},
		{"image/png", strings.Repeat("x", minImage-1), false},
		{"image/png", strings.Repeat("x", minImage), true},
		{"application/octet-stream", "GIF89a" + strings.Repeat("x", minAttachment), false},
		{"application/octet-stream", "RIFFsizeWEBP" + strings.Repeat("x", minAttachment), false},
		{"text/x-vcard", strings.Repeat("x", minAttachment), false},
		{"message/delivery-status", strings.Repeat("x", minAttachment), false},
	} {
		if got := signature.SignsAttachment(tt.mediaType, []byte(tt.content)); got != tt.want {
			t.Errorf("%s of %d bytes: %v, want %v", tt.mediaType, len(tt.content), got, tt.want)
		}
	}
}
