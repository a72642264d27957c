package signature_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
	"github.com/spambloom/spambloom/signature/work"
)

// The archives of a message share the bytes that may be inflated.
func TestInflationBounded(t *testing.T) {
	var raw strings.Builder
	raw.WriteString("Content-Type: multipart/mixed; boundary=b\n\n")
	for i := range 8 {
		bomb := archivetest.Gzip(t, "", append([]byte(archivetest.Random(uint64(i), 3000)), make([]byte, freeInflated*2/5)...))
		raw.WriteString("--b\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" + encode(bomb) + "\n")
	}
	s := signature.Compute(signature.Parse([]byte(raw.String())))
	if got := len(ofKind(s, signature.KindContent)); got != 2 {
		t.Errorf("%d archives inflated, want 2", got)
	}
}

// Small files before a known one do not hide it, and neither do those behind it. Of several of one length, the first sign.
func TestLargestFilesSign(t *testing.T) {
	const start = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee file\n"
	known := "--b\n" + zipPart(t, "a", archivetest.Random(1, 5*minAttachment)) + "\n"
	picture := imagePart("Content-ID: <a>\n", append(hugeImage(), make([]byte, minImage)...))
	junk := func(format string, n int) string {
		return numbered("--b\nContent-Type: application/x-a\n\n"+format+strings.Repeat("x", n*minAttachment)+"\n", maxAttachments)
	}
	alone := signature.Compute(signature.Parse([]byte(start + known + picture + "--b--\n"))).Signatures[1:]
	if len(alone) != 3 {
		t.Fatalf("%d signatures", len(alone))
	}
	for _, tt := range []struct {
		name, raw string
		want      int // of the three
	}{
		{"before", junk("%02d", 1) + known + picture, 3},
		{"behind", known + picture + junk("%02d", 1), 3},
		{"small archives", junk("PK\x03\x04%02d", 1) + known + picture, 3},
		{"longer ones", junk("%02d", 20) + known + picture, 1}, // the content
		{"longer archives", junk("PK\x03\x04%02d", 20) + known + picture, 0},
	} {
		s := signature.Compute(signature.Parse([]byte(start + tt.raw + "--b--\n")))
		got := 0
		for _, sig := range alone {
			if slices.Contains(s.Signatures, sig) {
				got++
			}
		}
		if n := len(ofKind(s, signature.KindAttachment)); got != tt.want || n != maxAttachments || s.Limits&work.LimitAttachments == 0 {
			t.Errorf("%s: %d of %d signatures, %d attachments, limits %q", tt.name, got, tt.want, n, s.Limits.Names())
		}
	}
	first := "--b\nContent-Type: application/x-a\n\n00" + strings.Repeat("x", minAttachment) + "\n"
	want := ofKind(signature.Compute(signature.Parse([]byte(start+first+"--b--\n"))), signature.KindAttachment)
	same := numbered("--b\nContent-Type: application/x-a\n\n%02d"+strings.Repeat("x", minAttachment)+"\n", maxAttachments+1)
	if got := ofKind(signature.Compute(signature.Parse([]byte(start+same+"--b--\n"))), signature.KindAttachment); got[0] != want[0] {
		t.Error("of files of one length the first does not sign")
	}
}

// Small parts before a known one leave it its place and the budget: a part that is read only where there is no
// other text, and an archive.
func TestLargestPartsAreRead(t *testing.T) {
	const start = "Content-Type: multipart/mixed; boundary=b\n\n"
	inflated := func(word string, n int) string {
		data := []byte(archivetest.Random(3, 20<<10) + strings.Repeat(word, n/len(word)))
		return "--b\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" + encode(archivetest.Gzip(t, "", data)) + "\n"
	}
	text := strings.ReplaceAll(prose, "\n", " ")
	for _, tt := range []struct{ name, small, known, kind string }{
		{"invitations", "--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nSUMMARY:a\n",
			"--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nDESCRIPTION:" + text + "\n", "sketch"},
		{"texts", "--b\nContent-Type: text/foo\nContent-Disposition: attachment\n\na\n", "--b\nContent-Type: text/foo\nContent-Disposition: attachment\n\n" + prose + "\n", "sketch"},
		{"texts of no known type", "--b\nContent-Type: application/x-foo\n\na\n", "--b\nContent-Type: application/x-foo\n\n" + prose + "\n", "sketch"},
		{"an archive", "--b\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" +
			encode(archivetest.Gzip(t, "", make([]byte, freeInflated-1))) + "\n", inflated("known ", 300<<10), "content"},
	} {
		reported := signature.Compute(signature.Parse([]byte(start + tt.known + "--b--\n")))
		for _, raw := range []string{strings.Repeat(tt.small, 5) + tt.known, tt.known + strings.Repeat(tt.small, 5)} {
			s := signature.Compute(signature.Parse([]byte(start + raw + "--b--\n")))
			if found := matchesOf(reported, s); !slices.Contains(found, tt.kind) {
				t.Errorf("%s beside a known one: found by %q, limits %q", tt.name, found, s.Limits.Names())
			}
		}
	}
}
