package signature_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

// repeated returns prose and then about a size of one piece.
func repeated(header, piece string, size int) string {
	return header + "\n\n" + prose + strings.Repeat(piece, size/scale/len(piece))
}

// repeatedParts returns prose and then n parts of one piece.
func repeatedParts(piece string, n int) string {
	return "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + prose + "\n" + strings.Repeat("--b\n"+piece+"\n", n/scale) + "--b--\n"
}

const (
	asPlain = "Content-Type: text/plain; charset=utf-8"
	asPage  = "Content-Type: text/html; charset=utf-8"
)

// everyLookAlike returns every character that folding changes, in order.
func everyLookAlike(tb testing.TB) string {
	tb.Helper()
	table, err := os.ReadFile("words/lookalikes.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var all []rune
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		for _, field := range fields[1:] {
			var first, last rune
			if n, _ := fmt.Sscanf(field, "%X-%X", &first, &last); n == 1 {
				last = first
			}
			for r := first; r <= last; r++ {
				all = append(all, r)
			}
		}
	}
	slices.Sort(all)
	var b strings.Builder
	for _, r := range all {
		b.WriteRune(r)
		if r%7 == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hostileParts are more of them: one and more for each stage of signing.
var hostileParts = []struct {
	name string
	make func(tb testing.TB) string
}{
	{"links", func(testing.TB) string {
		var b strings.Builder
		for i := range 25_000 / scale {
			fmt.Fprintf(&b, "http://h%d.example%d.co.uk/ ", i, i)
		}
		return repeated(asPlain, b.String(), b.Len()*scale)
	}},
	{"small files beside large ones", func(testing.TB) string {
		const kind = "Content-Type: application/x-a\n\n"
		return strings.TrimSuffix(repeatedParts(kind+strings.Repeat("large ", 1<<16), 4*scale), "--b--\n") +
			strings.Repeat("--b\n"+kind+"a\n", 40_000/scale) + "--b--\n"
	}},
	{"images with long names", func(testing.TB) string {
		page := "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>a<img src=cid:z>\n"
		image := "--b\nContent-Type: image/png\nContent-Location: " + strings.Repeat("\x80", 12<<10) + "\n\n\x89PNG"
		var b strings.Builder
		for i := range 800 / scale {
			b.WriteString(image + strings.Repeat("x", 2<<10+i*7919%200) + "\n")
		}
		return page + b.String() + "--b--\n"
	}},
	{"links in a page", func(testing.TB) string {
		return repeated(asPage, "<a href='http://%77ww.b\u00fccher.example/?u=http://x.org'>", 1<<20)
	}},
	{"at signs", func(testing.TB) string { return repeated(asPlain, "@", 1<<20) }},
	{"addresses", func(testing.TB) string { return repeated(asPlain, "a@b.c ", 1<<20) }},
	{"dots", func(testing.TB) string { return repeated(asPlain, ".", 1<<20) }},
	{"dots and blanks", func(testing.TB) string { return repeated(asPlain, "a. ", 1<<20) }},
	{"letters", func(testing.TB) string { return repeated(asPlain, "a b ", 1<<20) }},
	{"colons and slashes", func(testing.TB) string { return repeated(asPlain, "http://", 1<<20) }},
	{"quotation marks", func(testing.TB) string { return repeated(asPlain, "> a\n> b:\n", 1<<20) }},
	{"rulers", func(testing.TB) string { return repeated(asPlain, "----------\nx:\n", 1<<20) }},
	{"beginnings of boilerplate", func(testing.TB) string { return repeated(asPlain, "this email has been ", 1<<20) }},
	{"boilerplate", func(testing.TB) string { return repeated(asPlain, "sent from my iphone x ", 1<<20) }},
	{"look-alikes", func(tb testing.TB) string { return repeated(asPlain, everyLookAlike(tb), 1<<20*scale) }},
	{"look-alikes in full", func(tb testing.TB) string { return repeated(asPlain, everyLookAlike(tb), 1<<20) }},
	{"combining marks", func(testing.TB) string { return repeated(asPlain, "a\u0301\u0316\u0345\u0f71 ", 1<<20) }},
	{"isolates", func(testing.TB) string { return repeated(asPlain, "\u2067\u202ea\u2069\u05d0 ", 1<<20) }},
	{"Thai and Han", func(testing.TB) string { return repeated(asPlain, "สวัสดี中文", 1<<20) }},
	{"ESC", func(testing.TB) string {
		return repeated("Content-Type: text/plain; charset=iso-2022-jp", "\x1b$Ba\x1b(B", 1<<20)
	}},
	{"styled elements", func(testing.TB) string {
		return repeated(asPage, "<p style='color:rgb(1,2,3);display:block;font-size:0.1em;x:y' class='a b c' id=d>", 1<<20)
	}},
	{"end tags", func(testing.TB) string {
		return repeated(asPage, strings.Repeat("<i>", 256)+strings.Repeat("</b>", 4<<10), 1<<20)
	}},
	{"open comments", func(testing.TB) string { return repeated(asPage, "<!--a", 1<<20) }},
	{"ampersands", func(testing.TB) string { return repeated(asPage, "&", 1<<20) }},
	{"base64 in base64", func(testing.TB) string {
		return wrappedIn(4, "Subject: x\n\n"+strings.Repeat(prose, 1<<20/scale/len(prose)))
	}},
	{"attachments", func(testing.TB) string {
		return repeatedParts("Content-Type: application/x-a\nContent-Transfer-Encoding: base64\n\n"+encoded(strings.Repeat("x", 1100)), 5_000)
	}},
	{"small attachments", func(testing.TB) string { return repeatedParts("Content-Type: application/x-a\n\nx", 50_000) }},
	{"images", func(testing.TB) string {
		return repeatedParts("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n"+encoded(string(hugeImage())), 1_000)
	}},
	{"archives in archives", func(tb testing.TB) string {
		data := strings.Repeat("\x00", 8<<20/scale)
		for range 4 {
			data = string(archivetest.Gzip(tb, "a", []byte(data)))
		}
		return repeatedParts("Content-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n"+encoded(data+strings.Repeat("\x00", minAttachment)), 16*scale)
	}},
	{"an archive that grows", func(tb testing.TB) string {
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + zipFile(tb, archivetest.File("a", strings.Repeat("\x00", 61<<20/scale))) + "--b--\n"
	}},
	{"PDF streams", func(testing.TB) string {
		return "Content-Type: application/pdf\n\n%PDF-1.4\n" + strings.Repeat("1 0 obj<</Length 9/Filter/FlateDecode>>stream\nx\x9c\x03\x00endstream endobj\n", 100_000/scale)
	}},
	{"a text in eighteen readings", func(testing.TB) string {
		head := "Content-Type: message/rfc822\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\nContent-Transfer-Encoding: x-uuencode\n\n"
		return strings.Repeat(head, 5) + strings.Repeat("e\u0327 ", 350_000/scale/4)
	}},
	{"a PDF in eight readings", func(testing.TB) string {
		signed := func(encoding, content string) string {
			n := len(content)
			return "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: x-uuencode\n" + encoding + "\n%PDF-1.4\n" +
				"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x80\x04\x84" + string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + content
		}
		pdf := "Content-Type: application/octet-stream\nContent-Transfer-Encoding: x-uuencode\nContent-Transfer-Encoding: 8bit\n\n" + string(hostilePDF([]int{5, 5, 500 / scale}))
		return signed("Content-Transfer-Encoding: x-uue\n", signed("", pdf))
	}},
	{"an image in four readings", func(testing.TB) string {
		two := "Content-Transfer-Encoding: x-uuencode\nContent-Transfer-Encoding: 8bit\n\n"
		return "Content-Type: message/rfc822\n" + two + "Content-Type: image/bmp\n" + two + string(hostileBMP([]int{800 / scale, 600, 1}))
	}},
}

// Each message is signed, or at least its body is.
func TestHostileParts(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, tt := range hostileParts {
		s := signature.Compute(signature.Parse([]byte(tt.make(t))))
		if len(s.Signatures) == 0 {
			t.Errorf("%s: not signed", tt.name)
		}
		if len(s.Domains) > maxDomains || len(s.Sketches) > 2*(1+maxPictures) {
			t.Errorf("%s: %d domains and %d sketches", tt.name, len(s.Domains), len(s.Sketches))
		}
	}
}

func BenchmarkHostileParts(b *testing.B) {
	for _, tt := range hostileParts {
		raw := []byte(tt.make(b))
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				signature.Compute(signature.Parse(raw))
			}
		})
	}
}

// A part that is read in many ways leaves the part behind it its own readings. So does one in an attached message.
func TestReadingsOfOnePartLeaveThoseOfOthers(t *testing.T) {
	two := "Content-Transfer-Encoding: quoted-printable\nContent-Transfer-Encoding: 8bit\n"
	decoy := "Content-Type: message/rfc822\nContent-Type: text/plain\n" + two + "\nContent-Type: application/x-a\nContent-Type: text/plain\n" + two + "\n" + strings.Repeat("decoy ", 500)
	spam := "Content-Type: text/plain\nContent-Transfer-Encoding: base64\nContent-Transfer-Encoding: 8bit\n\n!\n" + prose + "http://buy-pills.example/\n"
	both := "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + decoy + "\n--b\n" + spam + "\n--b--\n"
	for name, raw := range map[string]string{"alone": spam, "behind a decoy": both, "in a message": wrappedIn(1, both)} {
		if s := signature.Compute(signature.Parse([]byte(raw))); !slices.Contains(s.Domains, "buy-pills.example") || len(s.Sketches) == 0 {
			t.Errorf("%s: domains %q, %d sketches, limits %q", name, s.Domains, len(s.Sketches), s.Limits.Names())
		}
		if lf, crlf := computeWork(raw), computeWork(strings.ReplaceAll(raw, "\n", "\r\n")); lf != crlf {
			t.Errorf("%s: spent and granted %v, with CRLF %v", name, lf, crlf)
		}
	}
}

// A part that is read in two ways takes no room of a known archive or picture, before or behind it, whatever it pretends
// to be. In a message that is read in two ways itself, all parts have theirs once.
func TestReadingsOfOnePartLeaveRoomForFiles(t *testing.T) {
	const mixed, two = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee file\n", "Content-Transfer-Encoding: quoted-printable\nContent-Transfer-Encoding: 8bit\n"
	archive := func(name string) string { return "--b\n" + zipPart(t, name, archivetest.Random(1, 9000)) + "\n" }
	picture := imagePart("", pageImage(t))
	size := max(len(archive("")), len(picture))
	decoy := func(mediaType, magic string) string {
		return "--b\nContent-Type: " + mediaType + "\n" + two + "\n" + magic + "=41" + strings.Repeat("x\n", size/2) + "\n"
	}
	outer := "Content-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\nContent-Transfer-Encoding: quoted-printable\n\n"
	for name, junk := range map[string]string{"nothing": "", "a picture": decoy("image/gif", "GIF8"), "a picture of a type only": decoy("image/png", ""),
		"a PDF": decoy("application/octet-stream", "%PDF-"), "a PDF as a picture": decoy("image/png", "%PDF-")} {
		for place, raw := range map[string]string{"before": mixed + junk + archive("a") + picture, "behind": mixed + archive("b") + picture + junk,
			"in a message": outer + mixed + junk + archive("c") + picture} {
			s := signature.Compute(signature.Parse([]byte(raw + "--b--\n")))
			if contents, images := len(ofKind(s, signature.KindContent)), len(imagesOf(s)); contents == 0 || images == 0 {
				t.Errorf("%s %s: %d contents and %d images, limits %q", name, place, contents, images, s.Limits.Names())
			}
		}
	}
}
