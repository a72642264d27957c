package mail

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/work"
)

// A milter's names keep the blank before the colon, those of Parse do not.
func TestMIMEHeaderBlankBeforeColon(t *testing.T) {
	parsed := Parse([]byte("Content-Type : text/html\nContent-Transfer-Encoding\t: base64\n\n"))
	want := messageMIME(parsed.Header, nil)
	got := messageMIME([]Field{{"Content-Type ", "text/html"}, {"Content-Transfer-Encoding\t", "base64"}}, nil)
	if !reflect.DeepEqual(got, want) || got.MediaType != "text/html" || got.encoding != "base64" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMIMEHeader(t *testing.T) {
	for _, tt := range []struct {
		contentType, encoding, disposition string
		want                               mimeHeader
	}{
		{"", "", "", mimeHeader{MediaType: "text/plain"}},
		{"Text/HTML; Charset=UTF-8", "8BIT", "", mimeHeader{MediaType: "text/html", Charset: "utf-8", encoding: "8bit"}},
		{"text", "", "", mimeHeader{MediaType: "text/plain"}},
		{"multipart/mixed; boundary=----=_Part_1", "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{"----=_Part_1"}}},
		{"multipart/mixed; boundary=a b=c; x", "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{"a b=c", "a"}}},
		{`multipart/mixed boundary="a;b"`, "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{"a;b"}}},
		{`multipart/mixed; boundary="a\"b"; foo; name=a b`, "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{`a"b`, `a\"b`}}},
		{`multipart/mixed; name="open; boundary=ab`, "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{"ab"}}},
		{"multipart/mixed;\r\n\tboundary=\"a\r\n b\"", "", "", mimeHeader{MediaType: "multipart/mixed", boundaries: []string{"a b"}}},
		{"text/html; charset=utf-8; charset=koi8-r", "", "", mimeHeader{MediaType: "text/html", Charset: "utf-8"}},
		{"text/plain (comment)", "base64 (x)", "", mimeHeader{MediaType: "text/plain", encoding: "base64"}},
		{"", "base64;", "", mimeHeader{MediaType: "text/plain", encoding: "base64"}},
		{"", ` "Base64"`, "Attachment; filename=x", mimeHeader{MediaType: "text/plain", encoding: "base64", Disposition: "attachment"}},
		{"", "quoted-printable\r\n", "inline", mimeHeader{MediaType: "text/plain", encoding: "quoted-printable", Disposition: "inline"}},
	} {
		got := messageMIME([]Field{{"content-type", tt.contentType}, {"Subject", "x"},
			{"CONTENT-TRANSFER-ENCODING", tt.encoding}, {"Content-Disposition", tt.disposition}, {"Content-Type", "image/late"}}, nil)
		if tt.contentType == "" {
			tt.want.MediaType = "image/late"
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q %q %q:\ngot  %+v\nwant %+v", tt.contentType, tt.encoding, tt.disposition, got, tt.want)
		}
	}
}

// Programs differ in which of two encodings they believe. Content decides that consists of base64; of
// other content both readings are carried.
func TestTwoEncodings(t *testing.T) {
	const text = "some words of plain text\n"
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	for _, tt := range []struct{ name, first, second, body, want string }{
		{"encoded", "8bit", "base64", encoded, text},
		{"not encoded", "8bit", "base64", text, text},
		{"encoded, the other way round", "base64", "7bit", encoded, text},
		{"none of them", "8bit", "8bit", encoded, encoded},
	} {
		m := Parse([]byte("Content-Transfer-Encoding: " + tt.first + "\nContent-Transfer-Encoding: " + tt.second + "\n\n" + tt.body))
		var got []string
		Walk(m, nil, func(l Leaf) {
			got = append(got, string(decodeTransfer(nil, l.raw, l.encoding)))
			if isOnly := tt.first == tt.second || tt.body == encoded; isOnly != (l.Carried == OwnPart) {
				t.Errorf("%s: carried as %v", tt.name, l.Carried)
			}
		})
		if got[0] != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The pieces of a boundary, each of which is a parameter, are counted as what they cost.
func TestPiecesOfBoundaryAreCounted(t *testing.T) {
	value := "multipart/mixed" + strings.Repeat("; boundary*0=a", 4000)
	for name, raw := range map[string]string{
		"a part's":      "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: " + value + "\n\n--b--\n",
		"the message's": "Content-Type: " + value + "\n\n--a\n\n--a--\n",
	} {
		var steps work.Steps
		Walk(Parse([]byte(raw)), &steps, func(Leaf) {})
		if steps.Total() < stepsOfType*len(value) {
			t.Errorf("%s: %d steps for %d bytes", name, steps.Total(), len(value))
		}
	}
}

// A third type that is just short enough counts with LF, CRLF, and blanks around it: a user's mailbox and a
// mail server have the same message in different forms.
func TestLengthOfFurtherTypes(t *testing.T) {
	for name, junk := range map[string]struct{ short, long string }{
		"folds":  {strings.Repeat(";\n x=y", 150), strings.Repeat(";\n x=y", 200)},
		"CRLF":   {strings.Repeat(";\r\n x=y", 150), strings.Repeat(";\r\n x=y", 200)},
		"blanks": {";x=y" + strings.Repeat(" ", maxShort), ";x=" + strings.Repeat("y", maxShort)},
	} {
		for value, want := range map[string]string{junk.short: "multipart/mixed", junk.long: "text/plain"} {
			header := "Content-Type: text/plain\nContent-Type: text/plain\nContent-Type: multipart/mixed; boundary=b" + value + "\n\n"
			part, _ := partMIME([]byte(header), new(work.Steps), nil)
			message := messageMIME(Parse([]byte(header)).Header, new(work.Steps))
			if part.MediaType != want || message.MediaType != want {
				t.Errorf("%s, %d bytes: a part is %s, a message %s, want %s", name, len(value), part.MediaType, message.MediaType, want)
			}
		}
	}
}
