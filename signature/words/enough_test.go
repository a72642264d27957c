package words

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
		if got := IsEnough([]byte(folded(tt.text)), Brief); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for text, want := range map[string]bool{prose: false, ampleProse: true, strings.Repeat("internationalisation ", 39): false} {
		if got := IsEnough([]byte(folded(text)), Ample); got != want {
			t.Errorf("ample %.20q: %v, want %v", text, got, want)
		}
	}
}
