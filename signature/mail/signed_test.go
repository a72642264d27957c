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
	inSigned := func(content string) string {
		return tlv(0x30, "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"+tlv(0xa0, tlv(0x30, "\x02\x01\x01"+tlv(0x31, tlv(0x30, "\x06\x01\x2a"))+tlv(0x30, oid+content)+
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
		{"too long a length", oid + "\xa0\x80\x04\x89" + strings.Repeat("\xff", 20), ""},
		{"nothing", "", ""},
	} {
		if got := string(signedContent([]byte(tt.data))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
