package signature

import (
	"strings"
	"testing"
)

func TestIsEnough(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"empty", "", false},
		{"short", "please find attached the invoice best regards anna", false},
		{"prose", prose, true},
		{"long but one word", strings.Repeat("buy ", 200), false},
		{"few long words", strings.Repeat("internationalisation ", 11), false},
		{"many short words", "a b c d e f g h i j k l m n o p", false},
		{"Han", "尊敬的客户您好我们公司提供各类发票代开业务税点优惠真实有效可以先验证后付款", true},
		{"short Han", "尊敬的客户您好谢谢", false},
		{"one Han character", strings.Repeat("哈", 200), false},
		{"Thai", strings.Repeat("ขอเสนอโปรโมชั่นพิเศษสำหรับท่านในเดือนนี้เท่านั้น", 3), true},
		{"11 words and boilerplate", "alpha bravo charlie deltaaaaaaaaa echoooooooooooooo foxtroooooooot golfffffffff hotelllllllllll indiaaaaaaaaaa julietttttttt kilooooooooooo sent from my iphone", false},
		{"boilerplate", "see attached this message has been scanned for viruses and dangerous content by mailscanner and is believed to be clean sent from my iphone", false},
	} {
		if got := isEnough([]byte(folded(tt.text)), brief, boilerplate()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for text, want := range map[string]bool{prose: false, ampleProse: true, strings.Repeat("internationalisation ", 39): false} {
		if got := isEnough([]byte(folded(text)), ample, boilerplate()); got != want {
			t.Errorf("ample %.20q: %v, want %v", text, got, want)
		}
	}
}

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
		{"iso-2022-jp", "iso-2022-jp", "\x1b$B$\"\x1b(B", "あ"},
		{"gb2312", "gb2312", "\xc4\xe3", "你"},
		{"korean", "ks_c_5601-1987", "\xb0\xa1", "가"},
	} {
		if got := toUTF8([]byte(tt.in), tt.charset, false); string(got) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	page := "<meta charset=gb2312>\xc4\xe3"
	if got := toUTF8([]byte(page), "", true); !strings.HasSuffix(string(got), "你") {
		t.Errorf("charset of a page: got %q", got)
	}
}
