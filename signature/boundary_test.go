package signature_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// loanOffer is the text of a spam.
const loanOffer = "We have approved a personal loan of fifty thousand dollars for your family without any check at all. Visit our office " +
	"in the harbour, complete the short application, and receive the money within two working days. Our advisers in Singapore, " +
	"Lagos and Geneva help many customers every month to repay old debts and buy houses, cars and holidays by the sea. "

// A sender writes a boundary that mail programs read otherwise than a strict parser, with a
// newsletter where only the parser would see a part. Readers see the offer, which is found again, and
// its report does not list the newsletter.
func TestBoundaryThatProgramsReadOtherwise(t *testing.T) {
	for _, tt := range []struct{ name, parameters, readers, ours string }{
		{"an encoded word", `boundary="=?utf-8?Q?b%d?="`, "=?utf-8?Q?b%d?=", "b%d"},
		{"a backslash", `boundary="a\b%d"`, "ab%d", `a\b%d`},
		{"a comment behind it", "boundary=b%d (x)", "b%d", "b%d (x)"},
		{"two, and the first counts", "boundary=b%[1]d; boundary=c%[1]d", "b%d", "c%d"},
		{"two, and the last counts", "boundary=c%[1]d; boundary=b%[1]d", "b%d", "c%d"},
		{"two, one of them extended", "boundary=b%[1]d; boundary*=utf-8''c%[1]d", "b%d", "c%d"},
		{"an extended one in a faulty field", "x=(; boundary*=utf-8''b%d", "b%d", "c%d"},
		{"quotes inside other values", `x=a"; boundary=b%d; y=b"`, "b%d", "c%d"},
		{"a long field", `x="` + strings.Repeat("x", 80<<10) + `"; boundary=b%d`, "b%d", "c%d"},
		{"a long boundary", `boundary="` + strings.Repeat("b", 1200) + `%d"`, strings.Repeat("b", 1200) + "%d", "c%d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spam := func(copy int) signature.Set {
				at := func(format string) string { return fmt.Sprintf(format, copy) }
				text := fmt.Sprintf("Dear customer number %d, ", copy) + loanOffer
				return signature.Compute(signature.Parse([]byte("From: a@b.example\nContent-Type: multipart/mixed; " + at(tt.parameters) +
					"\n\n--" + at(tt.ours) + "\n" + letterText + "\n--" + at(tt.ours) + "--\n" +
					"\n--" + at(tt.readers) + "\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(text)) +
					"\n--" + at(tt.readers) + "--\n")))
			}
			reported := spam(1)
			if kinds := matchesOf(reported, signature.Compute(signature.Parse([]byte("From: a@b.example\n"+letterText)))); kinds != nil {
				t.Errorf("the report lists the newsletter by %v", kinds)
			}
			if kinds := matchesOf(reported, spam(2)); kinds == nil {
				t.Errorf("the report does not list another copy: %+v", reported)
			}
		})
	}
}

// Mail programs that follow the grammar remove comments from MIME fields, and others do not. Both
// show the offer in some of these mails.
func TestCommentsInFields(t *testing.T) {
	in64 := func(text string) string {
		return "Content-Transfer-Encoding: %s\n\n" + base64.StdEncoding.EncodeToString([]byte(text))
	}
	for name, spam := range map[string]func(text string) string{
		"encoding":                         func(text string) string { return fmt.Sprintf(in64(text), "(x) base64") },
		"encoding, with noise":             func(text string) string { return fmt.Sprintf(in64(text), "(x) base64") + "\n!\n" },
		"encoding of a text that has none": func(text string) string { return "Content-Transfer-Encoding: (x) base64\n\n" + text },
		"two encodings, the second one holds": func(text string) string {
			return "Content-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit\n\n" + text
		},
		"quoted-printable": func(text string) string {
			return "Content-Transfer-Encoding: (x) quoted-printable\n\n" + strings.ReplaceAll(text, "e", "=65=\n")
		},
		"attached message": func(text string) string {
			return fmt.Sprintf("Content-Type: message/rfc822\n"+in64("Subject: x\n\n"+text), "(x) base64")
		},
		"type": func(text string) string {
			return "Content-Type: (x) multipart/mixed; boundary=b\n\n--b\n" + fmt.Sprintf(in64(text), "base64") + "\n--b--\n"
		},
		"blanks in a type": func(text string) string {
			return "Content-Type: multipart / mixed; boundary=b\n\n--b\n" + fmt.Sprintf(in64(text), "base64") + "\n--b--\n"
		},
		"preamble of what some take for a text": func(text string) string {
			return "Content-Type: (x) multipart/mixed; boundary=b\n\n" + text + "\n--b\n\nhello\n--b--\n"
		},
		"boundary": func(text string) string {
			return "Content-Type: multipart/mixed; boundary=(x)b\n\n--b\n" + fmt.Sprintf(in64(text), "base64") + "\n--b--\n"
		},
	} {
		sign := func(copy int) signature.Set {
			text := fmt.Sprintf("Dear customer number %d, ", copy) + loanOffer
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + spam(text))))
		}
		if kinds := matchesOf(sign(1), sign(2)); kinds == nil {
			t.Errorf("%s: the report does not list another copy: %+v", name, sign(1))
		}
	}
}

// mutt reads the last Content-Type of a header, and others the first one. What either shows signs, and is not the
// spam's own; a file is still one.
func TestTwoContentTypes(t *testing.T) {
	file := strings.Repeat("the same file in all ", 60)
	for name, spam := range map[string]func(own, carried string) string{
		"the last one has the parts": func(own, carried string) string {
			return "Content-Type: text/plain\nContent-Type: multipart/mixed; boundary=b\n\n" + own + "\n--b\n" + carried + "\n--b--\n"
		},
		"the first one has the parts": func(own, carried string) string {
			return "Content-Type: multipart/mixed; boundary=b\nContent-Type: text/plain\n\n" + own + "\n--b\n" + carried + "\n--b--\n"
		},
		"both have parts": func(own, carried string) string {
			return "Content-Type: multipart/mixed; boundary=a\nContent-Type: multipart/mixed; boundary=b\n\n--a\n\n" + own + "\n--a--\n--b\n" + carried + "\n--b--\n"
		},
		"the last one is text": func(own, carried string) string {
			return "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + own + "\n--b\nContent-Type: application/octet-stream\n" + carried + "\n--b--\n"
		},
	} {
		sign := func(copy uint64) signature.Set {
			return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + spam(decoy(copy), "Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n"+encoded(loanOffer)))))
		}
		if kinds := matchesOf(sign(1), sign(2)); !slices.Contains(kinds, "sketch") {
			t.Errorf("%s: another copy is found by %v", name, kinds)
		}
		framing := signature.Compute(signature.Parse([]byte("From: a@b.example\n" + spam(loanOffer, strings.TrimPrefix(letterText, "\n")))))
		if kinds := matchesOf(framing, signature.Compute(signature.Parse([]byte("From: a@b.example\n"+letterText)))); kinds != nil {
			t.Errorf("%s: the newsletter is listed by %v", name, kinds)
		}
	}
	withFile := func(types string) signature.Set {
		return signature.Compute(signature.Parse([]byte("From: a@b.example\n" + multi("mixed", "\nhello", types+"\n\n"+file))))
	}
	one, two := withFile("Content-Type: application/pdf"), withFile("Content-Type: application/pdf\nContent-Type: text/plain")
	if kinds := matchesOf(one, two); !slices.Contains(kinds, "attachment") {
		t.Errorf("a file that is text, too, is found by %v", kinds)
	}
}

// A newsletter that some programs offer as a file, and others show, is not the spam's own.
func TestDispositionThatProgramsReadOtherwise(t *testing.T) {
	for _, disposition := range []string{"(x) attachment", "attachment x", "file", "attachment(x)"} {
		spam := "From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: " + disposition + "\n" + letterText +
			"--b\n\n" + loanOffer + "\n--b--\n"
		kinds := matchesOf(signature.Compute(signature.Parse([]byte(spam))), signature.Compute(signature.Parse([]byte("From: a@b.example\n"+letterText))))
		if kinds != nil {
			t.Errorf("%s: the report lists the newsletter by %v", disposition, kinds)
		}
	}
}

// A text whose words are broken at other places in each copy is shown whole by programs that read
// format=flowed; delsp=yes.
func TestWordsBrokenByFlowedLines(t *testing.T) {
	sign := func(every int) signature.Set {
		var text strings.Builder
		for i, r := range fmt.Sprintf("Dear customer number %d, ", every) + loanOffer {
			if text.WriteRune(r); i%every == 0 {
				text.WriteString(" \n ")
			}
		}
		return signature.Compute(signature.Parse([]byte("From: a@b.example\nContent-Type: text/plain; format=flowed; delsp=yes\n\n" + text.String())))
	}
	if kinds := matchesOf(sign(3), sign(4)); kinds == nil {
		t.Error("the report does not list another copy")
	}
}

// Mail programs show what is inside opaque-signed mail. Others offer a file, so the letter in it is
// not listed by a report.
func TestOpaqueSignedMail(t *testing.T) {
	sign := func(own, content string) signature.Set {
		length := func(n int) string { return string([]byte{0x82, byte(n >> 8), byte(n)}) }
		data := "\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80\x30\x80\x02\x01\x01\x31\x00\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01" +
			"\xa0\x80\x04" + length(len(content)) + content + "\x00\x00\x00\x00 a certificate, and a signature of " + fmt.Sprint(len(content))
		return signature.Compute(signature.Parse([]byte("From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\n" +
			"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\n" +
			base64.StdEncoding.EncodeToString([]byte(data)) + "\n--b\n\n" + own + "\n--b--\n")))
	}
	copied := func(copy int) signature.Set {
		return sign("", fmt.Sprintf("Content-Type: text/plain\r\n\r\nDear customer number %d, ", copy)+loanOffer)
	}
	if kinds := matchesOf(copied(9), copied(10)); kinds == nil {
		t.Errorf("the report does not list another copy: %+v", copied(9))
	}
	letter := signature.Compute(signature.Parse([]byte("From: a@b.example\n" + letterText)))
	if kinds := matchesOf(sign(loanOffer, letterText), letter); kinds != nil {
		t.Errorf("the report lists the newsletter by %v", kinds)
	}
}
