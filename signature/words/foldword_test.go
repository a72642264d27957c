package words

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func folded(texts ...string) string {
	var t Tokeniser
	for _, text := range texts {
		t.Add([]byte(text), nil, nil)
	}
	return string(t.Text)
}

// Each disguised word becomes the same as the plain one.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ plain, varied string }{
		{"viagra", "VIAGRA V1agra v|agra Vi@gra v!agra vi4gra \u0475iagra vіаgrа v.i.a.g.r.a v-i-a-g-r-a v*i*a*g*r*a viiiagra vi\u200bagra vi\u00adagra vi\x00agra vi😀agra vi\u0301\u0302\u0303agra vi\u17b4agra vi\u17b5ag\u0488ra vi\U00016fe4agra vi\u2d7fag\U00011a47ra ᶌiagɾa vⲓꭤgra"},
		{"free", "Freeee fr33 ƒree ＦＲＥＥ 𝐟𝐫𝐞𝐞 ⒻⓇⒺⒺ 🅕🅡🅔🅔 🅵🆁🅴🅴 🇫🇷🇪🇪 ꜰʀᴇᴇ ᶠʳᵉᵉ fгее free! free. (free) *free*"},
		{"money", "m0ney rnoney м0nеy $$$money$$$ mσηεγ môñéÿ m⚬ney m᧐ney moꞃey monɘy monⲉⲩ"},
		{"winner", "vvinner \\/\\/inner w1nner ωinner"},
		{"kill", "|<ill k!ll KILL kiII"},
		{"house", "|-|ouse h0u$e ho|_|se"},
		{"sale", "$ale 5ale sa1e s@le s4l3"},
		{"account", "accounƫ accounꞇ accoun𐍄 acc0unt a(count а\u0441\u0441ount acco\u03c5nt"},
		{"москва", "МОСКВА москва"},
	} {
		want := folded(tt.plain)
		for word := range strings.FieldsSeq(tt.varied) {
			if got := folded(word); got != want {
				t.Errorf("%q becomes %q, want %q as of %q", word, got, want, tt.plain)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"blanks", "  Hello,\r\n\tWORID! ", "heio worid"},
		{"numbers", "buy 2 for $5.99 or 30mg at 10am, 1999", "buy for or mg at am"},
		{"links", "see http://a.example/b?c=d and www.a.example, (https://x) or bob@a.example", "se and or"},
		{"spaced out", "buy v i a g r a  c i a l i s now", "buy viagra ciais now"},
		{"few single letters", "plan a b c now", "pian a b c now"},
		{"hash busters", "a 8f3a9c0d2b7e4f1a6c5d8e9f0a1b b " + strings.Repeat("x1", 12), "a b"},
		{"Han", "尊敬的 客户 abc，发票123", "尊敬的客户abc发票"},
		{"Kana of half width", "カート ﾃｽﾄ", "カートテスト"},
		{"Thai", "ขอ เสนอ ๑๒๓", "ขอเสนอ"},
		{"Hangul", "안녕하세요 고객님!", "안녕하세요 고객님"},
		{"Hangul in letters", norm.NFD.String("안녕하세요 고객님 값을"), "안녕하세요 고객님 값을"},
		{"letters of Hangul between signs", "\u1100-\u1161*\u11a8 \u1100\u200b\u1161\u11a8", "각 각"},
		{"Devanagari", "नमस्ते दुनिया", folded("नमस्ते") + " " + folded("दुनिया")},
		{"Hebrew points", "שָׁלוֹם", folded("שלום")},
		{"hair spaces", "par\u200acel, thin\u2009space", "parcei thin space"},
		{"Khmer inherent vowels", "ក\u17b4ខ", folded("កខ")},
		{"Arabic tatweel", "مرحـــبا ـ \ufe71 بال\ufe77عالم", folded("مرحبا بالعالم")},
		{"Arabic points", "مَرْحَبًا", folded("مرحبا")},
		{"signs alone", "| $ @ !! -- (c) 5$", "c"},
	} {
		if got := folded(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
