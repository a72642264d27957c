package page_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature/page"
)

func TestShownOrder(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"buy \u202eargaiv\u202c now", "buy \u202eviagra\u202c now"},
		{"a \u202ecb\nd", "a \u202ebc\nd"},
		{"\u202eéa", "\u202eaé"},
		{"\u202eשלום", "\u202eשלום"},
		{"\u202eba\u202edc", "\u202eab\u202ecd"},
	} {
		if got := string(page.InShownOrder([]byte(tt.in))); got != tt.want {
			t.Errorf("%+q is shown as %+q, want %+q", tt.in, got, tt.want)
		}
	}
	if got := shows("a <bdo dir=rtl>argaiv</bdo> b"); got != "a \u202eviagra\u202c b" {
		t.Errorf("bdo: got %+q", got)
	}
}
