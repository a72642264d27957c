package mail

import "testing"

func TestJoinFlowed(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"one \ntwo\nthree", "onetwo\nthree"},
		{"per \nso \nnal  \nloan\n", "personal loan\n"},
		{"per \r\nsonal\r\n", "personal\n"},
		{"> quo \n> ted \nown\n", "> quoted\nown\n"},
		{"> one \n>> two\n", "> one\n>> two\n"},
		{" From \n here\n", " Fromhere\n"},
		{"text\n-- \nname\n", "text\n-- \nname\n"},
		{"open ", "open"},
		{" \n \n", " \n \n"}, // empty lines,
	} {
		if got := string(JoinFlowed([]byte(tt.text))); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
