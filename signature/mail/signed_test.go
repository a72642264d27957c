package mail

import (
	"strings"
	"testing"
)

// tlv returns a value of BER with a length of two bytes.
func tlv(tag byte, content string) string {
	return string([]byte{tag, 0x82, byte(len(content) >> 8), byte(len(content))}) + content
}

// open returns a value of BER of indefinite length.
func open(tag byte, content string) string { return string([]byte{tag, 0x80}) + content + "\x00\x00" }

func TestSignedContent(t *testing.T) {
	const text = "Content-Type: text/plain\r\n\r\nsome words\r\n"
	oid := string(idData)
	const signedOID = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"
	decoy := oid + tlv(0xa0, tlv(0x04, "other words"))
	inSigned := func(content string) string {
		return tlv(0x30, signedOID+tlv(0xa0, tlv(0x30, "\x02\x01\x01"+tlv(0x31, tlv(0x30, "\x06\x01\x2a"))+tlv(0x30, oid+content)+
			tlv(0xa0, oid+"certificate"))))
	}
	for _, tt := range []struct{ name, data, want string }{
		{"primitive", inSigned(tlv(0xa0, tlv(0x04, text))), text},
		{"short", inSigned(tlv(0xa0, "\x04\x03abc")), "abc"},
		{"pieces", inSigned(tlv(0xa0, tlv(0x24, tlv(0x04, text[:5])+tlv(0x04, text[5:])))), text},
		{"indefinite", open(0x30, oid+open(0xa0, open(0x24, "\x04\x05"+text[:5]+tlv(0x04, text[5:])))), text},
		{"behind one without content", inSigned(oid + tlv(0xa0, tlv(0x04, text))), text},
		{"detached", inSigned(""), ""},
		{"cut", oid + "\xa0\x82\xff\xff\x04\x82\xff\xffabc", "abc"},
		{"cut in a length", oid + "\xa0\x84\xff", ""},
		{"no length", oid + "\xa0", ""},
		{"too long a length", oid + "\xa0\x80\x04\x89" + strings.Repeat("\xff", 9) + "abc", "abc"},
		{"nothing", "", ""},
		{"another in an algorithm", tlv(0x30, signedOID+tlv(0xa0, tlv(0x30, "\x02\x01\x01"+tlv(0x31, tlv(0x30, decoy))+tlv(0x30, oid+tlv(0xa0, tlv(0x04, text)))))), text},
		{"another in open values", open(0x30, signedOID+open(0xa0, open(0x30, "\x02\x81\x01\x01"+open(0x31, open(0x30, decoy))+open(0x30, "\x06\x81\x09"+oid[2:]+open(0xa0, open(0x24, tlv(0x04, text))))))), text},
		{"an open value that does not end", "\x30\x80" + signedOID + "\xa0\x80\x30\x80\x02\x01\x01\x31\x80\x30\x80", ""},
		{"another in a length", oid + "\xa0\x80\x24\x92" + oid + "\xa0\x80\x04\x05other" + oid + tlv(0xa0, tlv(0x04, text)), text},
		{"only lengths", strings.Repeat("\x30\x80", 1000), ""},
	} {
		if got := string(signedContent([]byte(tt.data))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Signed data in an encoding that programs read in two ways is read twice at the first level only. Each
// reading takes memory of its own, and four of them more than is booked for a message.
func TestDoubtfulSigned(t *testing.T) {
	const head = "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\nContent-Transfer-Encoding: quoted-printable\n\n\x01"
	wrapped := func(text string) string { return head + string(idData) + open(0xa0, tlv(0x04, text)) }
	files := 0
	Walk(Parse([]byte(wrapped(wrapped("\nsome words\n")))), nil, func(l Leaf) {
		if l.MediaType == "application/pkcs7-mime" {
			files++
		}
	})
	if want := 2 + 1; files != want {
		t.Errorf("%d readings, want %d", files, want)
	}
}

func FuzzSignedContent(f *testing.F) {
	oid := string(idData)
	f.Add([]byte(tlv(0x30, oid+tlv(0xa0, tlv(0x30, "\x02\x01\x01"+tlv(0x31, "")+tlv(0x30, oid+tlv(0xa0, tlv(0x24, tlv(0x04, "abc")))))))))
	f.Add([]byte(open(0x30, oid+open(0xa0, open(0x30, "\x02\x01\x01"+open(0x31, "")+open(0x30, oid+open(0xa0, open(0x24, tlv(0x04, "abc")))))))))
	f.Add([]byte(oid + "\xa0\x80\x04\x89\xff\xff\xff\xff\xff\xff\xff\xff\xffabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		if content := signedContent(data); len(content) > len(data) || string(data) != before {
			t.Fatalf("%d bytes from %d", len(content), len(data))
		}
	})
}

// FuzzInPlace reads texts in place: the results are no longer than the texts.
func FuzzInPlace(f *testing.F) {
	f.Add([]byte("DESCRIPTION;X=\"a:b\":one\\, two\\n\r\n three \\\n\tfour\nSUMMARY:\n \n"))
	f.Add([]byte("one \n> two \n> three\n>> \n -- \n-- \nfour \r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := CalendarText([]byte(string(data))); len(got) > len(data) {
			t.Fatalf("%q from %q", got, data)
		}
		if got := JoinFlowed([]byte(string(data))); len(got) > len(data) {
			t.Fatalf("%q from %q", got, data)
		}
	})
}
