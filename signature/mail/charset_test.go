package mail_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/spambloom/spambloom/signature/mail"
)

func TestToUTF8(t *testing.T) {
	for _, tt := range []struct{ name, charset, in, want string }{
		{"plain", "", "abc", "abc"},
		{"latin1", "iso-8859-1", "caf\xe9", "café"},
		{"valid without name", "", "café", "café"},
		{"invalid without name", "", "caf\xe9 \x80", "café €"},
		{"ascii that is not", "us-ascii", "caf\xe9", "café"},
		{"invalid as said", "utf-8", "a\xffb", "a\uFFFDb"},
		{"alias", "utf8", "café", "café"},
		{"unknown", "x-nobody-knows", "caf\xe9", "café"},
		{"utf-16", "utf-16le", "a\x00b\x00", "ab"},
		{"utf-16 without a mark, little-endian", "utf-16", "a\x00b\x00\xac\x20", "ab€"},
		{"utf-16 without a mark, big-endian", "utf-16", "\x00a\x00b\x20\xac", "ab€"},
		{"ucs-2 without a mark, big-endian", "iso-10646-ucs-2", "\x00a\x00b", "ab"},
		{"utf-16 with a mark", "utf-16", "\xff\xfea\x00", "a"},
		{"iso-2022-jp", "iso-2022-jp", "\x1b$B$\"\x1b(B", "あ"},
		{"gb2312", "gb2312", "\xc4\xe3", "你"},
		{"korean", "ks_c_5601-1987", "\xb0\xa1", "가"},
	} {
		if got := mail.ToUTF8([]byte(tt.in), tt.charset, false); string(got) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	page := "<meta charset=gb2312>\xc4\xe3"
	if got := mail.ToUTF8([]byte(page), "", true); !strings.HasSuffix(string(got), "你") {
		t.Errorf("charset of a page: got %q", got)
	}
}

// A page without a declared charset names one that browsers replace by a single sign. Other programs
// show the text.
func TestReplacedCharsetOfPage(t *testing.T) {
	for _, name := range []string{"replacement", "iso-2022-kr", "hz-gb-2312", "iso-2022-cn"} {
		page := "<meta charset=" + name + ">caf\xc3\xa9 at noon"
		if got := mail.ToUTF8([]byte(page), "", true); !strings.HasSuffix(string(got), "café at noon") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A page in UTF-16 is read as such, whatever stands in its comments: here the bytes of letters of ASCII.
func TestCommentInUTF16(t *testing.T) {
	for _, name := range []string{"utf-16", "utf-16le", "utf-16be", "ucs2", "ucs-2be", "iso-10646-ucs-2", "unicode", "unicodelittle"} {
		isBig := strings.HasSuffix(name, "be")
		var page []byte
		for _, u := range utf16.Encode([]rune("<p>words</p><!--" + strings.Repeat("\u6162\u7a41", 100) + "-->")) {
			if isBig {
				page = append(page, byte(u>>8), byte(u))
			} else {
				page = append(page, byte(u), byte(u>>8))
			}
		}
		if got := mail.ToUTF8(page, name, true); !strings.HasPrefix(string(got), "<p>words</p><!--\u6162") {
			t.Errorf("%s: got %.40q", name, got)
		}
	}
}

// Letters are read in all EBCDIC code pages.
func TestEBCDIC(t *testing.T) {
	const hello = "\xc8\x85\x93\x93\x96\x40\xe6\x96\x99\x93\x84"
	for _, name := range []string{"ibm037", "ibm-273", "cp500", "csibm285", "ebcdic-cp-be", "ibm1140", "ibm01149", "cp1047", "ibm-1153", "csibm875", "cp937", "500"} {
		if got := mail.ToUTF8([]byte(hello), name, false); string(got) != "Hello World" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestCharsetsVersion2(t *testing.T) {
	for _, tt := range []struct{ charset, in, want string }{
		{"utf-7", "Hi Mom +Jjo-! A+ImIDkQ. 1 +- 1", "Hi Mom \u263a! A\u2262\u0391. 1 + 1"},
		{"unicode-1-1-utf-7", "+2D3cCQ-x", "\U0001F409x"},
		{"utf-7", "cut +", "cut +"},
		{"utf-7", "cut +A", "cut "},
		{"cp932", "\x83e\x83X\x83g", "テスト"},
		{"ks_c_5601", "\xb0\xa1", "가"},
		{"utf7", "+AEgAaQ-", "Hi"},
		{"csutf7", "+AEgAaQ-", "Hi"},
		{"x-utf-7", "+AEgAaQ-", "Hi"},
		{"utf-7-imap", "&AEgAaf,9- &- + 1", "Hi\uFFFD & + 1"},
		{"iso-2022-kr", "words", "words"},
		{"iso-2022-kr", "größer", "größer"},
		{"iso-2022-cn", "gr\xf6\xdfer", "größer"},
		{"iso-2022-kr", "\x1b$)C\x0e0!\x0f a\n0!", "가 a\n0!"},
		{"iso-2022-cn", "\x1b$)A\x0eDc\x0f a \x1b$)G\x0eDc\x0f", "你 a Dc"},
		{"utf-32", "\xff\xfe\x00\x00\x60\x4f\x00\x00a\x00\x00\x00", "你a"},
		{"utf-32be", "\x00\x00\x4f\x60\x00\x00\x00a\x00", "你a"},
		{"ucs-4", "\x00\x00\x4f\x60\xff\xff\xff\xff", "你\uFFFD"},
		{"csucs4", "words", "words"},
		{"ucs-2le", "\x60\x4fa\x00", "你a"},
		{"unicodebig", "\x4f\x60\x00a", "你a"},
		{"8859_5", "\xe0\xe3", "ру"},
		{"mac-cyrillic", "\xf0\xf3", "ру"},
		{"replacement", "words", "words"},
		{"37", "plain words", "plain words"},
		{"ebcdic-xx", "plain words", "plain words"},
		{"ibm875", "plain words, caf\xc3\xa9", "plain words, café"},
		{"utf-32", "plain words\x00", "plain words\x00"},
		{"ucs-4", "plain words\x00", "plain words\x00"},
		{"ucs2be", "plain words\x00", "plain words\x00"},
		{"unicodebig", "\xd1\x81\xd0\xbb\xd0\xbe\xd0\xb2\xd0\xbe", "слово"},
		{"utf-16", "plain words\x00", "plain words\x00"},
		{"utf-16", "words here", "words here"},
		{"utf-16le", "w\x00o\x00", "wo"},
		{"cp-1251", "\xf0\xf3", "ру"},
		{"iso-8859-1", "caf\xc3\xa9", "cafÃ©"}, // as mail programs show it
	} {
		if got := mail.ToUTF8([]byte(tt.in), tt.charset, false); string(got) != tt.want {
			t.Errorf("%s of %q: got %q, want %q", tt.charset, tt.in, got, tt.want)
		}
	}
}
