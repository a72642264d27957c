package replay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

func TestTimeOf(t *testing.T) {
	latest := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	const date = "Date: Tue, 01 Jan 2002 10:00:00 +0000\n"
	for _, c := range []struct{ name, header, want string }{
		{"nothing", "Subject: x\n", ""},
		{"date alone", date, "2002-01-01T10:00:00Z"},
		{"received is believed before date", "Received: from a by b; Thu, 22 Aug 2002 12:36:23 -0400 (EDT)\n" + date, "2002-08-22T16:36:23Z"},
		{"the newest stands first", "Received: by b; 3 Feb 2002 00:00:00 +0000\nReceived: by a; 2 Feb 2002 00:00:00 +0000\n", "2002-02-03T00:00:00Z"},
		{"folded", "Received: from a\n\tby b (single-drop);\n\tThu, 22 Aug 2002\n 12:36:23 +0000\n", "2002-08-22T12:36:23Z"},
		{"a semicolon in a comment", "Received: from a (x; y) by b; 3 Feb 2002 00:00:00 +0000\n", "2002-02-03T00:00:00Z"},
		{"received without a time", "Received: from a by b\n" + date, "2002-01-01T10:00:00Z"},
		{"the next received has one", "Received: from a by b; soon\nReceived: by a; 2 Feb 2002 00:00:00 +0000\n" + date, "2002-02-02T00:00:00Z"},
		{"a year of two digits", "Date: 5 Mar 02 08:00:00 GMT\n", "2002-03-05T08:00:00Z"},
		{"comments in comments", "Date: Tue, 01 Jan 2002 10:00:00 +0100 (Central (European) Time\n", "2002-01-01T09:00:00Z"},
		{"names of any case", "dATE: Tue, 01 Jan 2002 10:00:00 +0000\n", "2002-01-01T10:00:00Z"},
		{"from the future", "Date: Tue, 01 Jan 2036 10:00:00 +0000\n", ""},
		{"a broken clock", "Date: Thu, 01 Jan 1970 00:00:00 +0000\n", ""},
		{"no date at all", "Date: yesterday\n", ""},
	} {
		got := ""
		if at := TimeOf(signature.Parse([]byte(c.header+"\nBody\n")), latest); !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// FromOf returns no domain that a daemon would refuse. Such a request fails, and would stop the command.
func TestFromOf(t *testing.T) {
	for from, want := range map[string]string{
		"A <a@www.Shop.example>": "shop.example", "a@example.com, b@shop.example": "shop.example", "a": "", "": "", "a@": "", "a@com": "",
		"a@[127.0.0.1]": "", "a@[192.0.2.1]": "", "a@192.0.2.1": "", "a@[IPv6:2001:db8::1]": "", "a@b\u00fccher.example": "", "a@shop.example:25": "", "a@a%b.example": "",
		"a@" + strings.Repeat("x", 64) + ".example": "", "a@" + strings.Repeat("x", 70000) + ".example": "", "a@\u202eelpmaxe.moc": "", "a@\x80.example": "",
	} {
		got := FromOf(signature.Parse([]byte("From: " + from + "\n\nBody\n")))
		if got != want || got != "" && !signature.IsDomain(got) {
			t.Errorf("%.40q: %.40q, want %q", from, got, want)
		}
	}
}

func TestSort(t *testing.T) {
	at := func(name string, hour int) Message {
		m := Message{Name: name}
		if hour > 0 {
			m.Time = time.Date(2002, 1, 1, hour, 0, 0, 0, time.UTC)
		}
		return m
	}
	for _, c := range []struct {
		name     string
		messages []Message
		want     []string
		without  int
	}{
		{"none", nil, nil, 0},
		{"by time", []Message{at("b", 2), at("a", 1), at("c", 3)}, []string{"a", "b", "c"}, 0},
		{"equal times keep their order", []Message{at("b", 1), at("a", 1)}, []string{"b", "a"}, 0},
		{"behind the one read before", []Message{at("c", 3), at("d", 0), at("a", 1), at("b", 0)}, []string{"a", "b", "c", "d"}, 2},
		{"the first has none", []Message{at("a", 0), at("c", 2), at("b", 1)}, []string{"b", "a", "c"}, 1},
		{"no times", []Message{at("b", 0), at("a", 0)}, []string{"b", "a"}, 2},
	} {
		without := Sort(c.messages)
		var got []string
		for _, m := range c.messages {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, c.want) || without != c.without {
			t.Errorf("%s: %q, %d without a time; want %q, %d", c.name, got, without, c.want, c.without)
		}
	}
}
