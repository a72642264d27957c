package signature

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

func normalised(texts ...string) string {
	n := normaliser{caser: cases.Fold()}
	for _, text := range texts {
		n.add([]byte(text))
	}
	return string(n.out)
}

func TestNormalise(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"case and blanks", "  Hello,\r\n\tWORLD! ", "hello world"},
		{"digits and punctuation", "V-i-a-g-r-a 50mg (don't) * 1999", "viagra mg dont"},
		{"links", "see http://a.example/b?c=d and www.a.example, (https://x) here<HTTP://y>there:ftp://z", "see and here there"},
		{"mailto", "write to mailto:bob@a.example or Bob@a.example.", "write to or"},
		{"hosts", "go to a-b.example:80/x or Shop24.Example now", "go to or now"},
		{"no hosts", "e.g. this... that.i 3.5 a..b", "eg this thati ab"},
		{"long words", "a " + strings.Repeat("x", 23) + " " + strings.Repeat("y", 24) + " b", "a " + strings.Repeat("x", 23) + " b"},
		{"long word in stars", "****************SALE****************", "sale"},
		{"compatibility forms", "𝐒𝐚𝐥𝐞 ﬁne Ｗｉｄｅ ① ℌ", "sale fine wide h"},
		{"case folding", "STRASSE Straße ΣΊΣΥΦΟΣ İ", "strasse strasse σίσυφοσ i"},
		{"composition", "cafe\u0301 café", "café café"},
		{"nothing to see", "Vi\u200bag\u00adra\ufeff s\u2060ale\ufe0f", "viagra sale"},
		{"marks as decoration", "s\u0336a\u0336l\u0336e\u0336", "sale"},
		{"all kinds of blanks", "a\u00a0b\u3000c\u2028d", "a b c d"},
		{"emoji", "hot 🔥🔥 sale", "hot sale"},
		{"Han", "尊敬的 客户，\n您好 abc 发票123", "尊敬的客户您好abc发票"},
		{"Han around a link", "请访问http://a.example/zh?x=1谢谢bob@a.example合作", "请访问谢谢合作"},
		{"long run of Han", strings.Repeat("汉", 100), strings.Repeat("汉", 100)},
		{"Kana", "カート ﾃｽﾄ です。", "カートテストです"},
		{"Thai", "ขอ เสนอ ๑๒๓ พิเศษ", "ขอเสนอพิเศษ"},
		{"Hangul has blanks", "안녕하세요 고객님!", "안녕하세요 고객님"},
		{"marks of a script", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"invalid", "caf\xe9 \xff\xfe ok", "caf ok"},
		{"empty", " \r\n12 34 -- ", ""},
	} {
		if got := normalised(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := normalised("one", "two"); got != "one two" {
		t.Errorf("two texts: got %q", got)
	}
}

func TestNormaliseCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("word ", maxText), strings.Repeat("汉字", maxText), strings.Repeat("汉字 ", maxText)} {
		got := normalised(text, "more")
		if len(got) > maxText || len(got) < maxText-len("word ") {
			t.Errorf("%.6q: %d bytes, want up to %d", text, len(got), maxText)
		}
		if !utf8.ValidString(got) || strings.HasSuffix(got, " ") || strings.HasSuffix(got, "more") {
			t.Errorf("%.6q: cut to %q at the end", text, got[len(got)-8:])
		}
	}
}

func TestIsEnough(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"empty", "", false},
		{"short", "please find attached the invoice best regards anna", false},
		{"prose", normalised(prose), true},
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
		if got := isEnough([]byte(tt.text), brief, boilerplate().text); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for text, want := range map[string]bool{normalised(prose): false, normalised(ampleProse): true, strings.Repeat("internationalisation ", 39): false} {
		if got := isEnough([]byte(text), ample, boilerplate().text); got != want {
			t.Errorf("ample %.20q: %v, want %v", text, got, want)
		}
	}
}

// Folding that fills no text ends too.
func TestNormaliseWork(t *testing.T) {
	for name, blown := range map[string]string{
		"growing":    strings.Repeat("\uFDFA", maxFolded/33+1),
		"vanishing":  strings.Repeat("\u00ad\u00ad\u00ad ", maxFolded/6+1),
		"unlettered": strings.Repeat("🔥 ", maxFolded/4+1),
	} {
		n := normaliser{caser: cases.Fold()}
		n.add([]byte(blown + blown))
		n.add([]byte("more"))
		if !n.full || bytes.HasSuffix(n.out, []byte("more")) {
			t.Errorf("%s: %d bytes folded, and still not full", name, n.folded)
		}
		if most := maxFolded + 11*maxToken; n.folded > most {
			t.Errorf("%s: %d bytes folded, want at most %d", name, n.folded, most)
		}
		n.restart()
		n.add([]byte("more"))
		if string(n.out) != "more" {
			t.Errorf("%s: the next text is %q", name, n.out)
		}
	}
	// Mail in other scripts has room for the longest text.
	if got := normalised(strings.Repeat("слово, ", maxText)); len(got) < maxText-len(" слово") {
		t.Errorf("Cyrillic text of %d bytes, want %d", len(got), maxText)
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
