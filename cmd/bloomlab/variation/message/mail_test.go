package message

import (
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"multipart/mixed without a boundary": "Content-Type: multipart/mixed\n\n--a\n\nx\n--a--\n",
		"a boundary that never comes":        "Content-Type: multipart/mixed; boundary=a\n\nx\n",
		"no end":                             "Content-Type: multipart/mixed; boundary=a\n\n--a\n\nx\n",
		"base64 with other letters":          "Content-Transfer-Encoding: base64\n\n!!!!\n",
		"an unknown encoding":                "Content-Transfer-Encoding: x-own\n\ntext\n",
		"too many parts":                     "Content-Type: multipart/mixed; boundary=a\n\n" + strings.Repeat("--a\n\nx\n", maxParts+1) + "--a--\n",
	} {
		if _, err := Parse("m", []byte(raw)); err == nil || !strings.HasPrefix(err.Error(), "m: ") {
			t.Errorf("%s: error %v, want one that names the message", name, err)
		}
	}
}

func TestSentencesJoin(t *testing.T) {
	text := "One two. Three four five!\n\n" + strings.Repeat("word ", 40) + "end\n"
	list := Sentences(text)
	if strings.Join(list, "") != text {
		t.Errorf("joined: %q", list)
	}
	if len(list) != 5 {
		t.Errorf("%d sentences, want 5: %q", len(list), list)
	}
}
