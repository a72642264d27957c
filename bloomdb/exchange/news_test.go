package exchange

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNews(t *testing.T) {
	long := strings.Repeat("s", 64)
	for _, test := range []struct {
		name, payload string
		want          news
		wrong         string // part of the error
	}{
		{name: "head", payload: "spambloom1 head mx1.example.org 7-12\n", want: news{site: "mx1.example.org", head: Position{7, 12}}},
		{name: "delta", payload: "spambloom1 delta mx1 7-12\n\x00\nrecord", want: news{site: "mx1", head: Position{7, 12}, record: []byte("\x00\nrecord")}},
		{name: "longest line", payload: "spambloom1 head " + long + " 18446744073709551615-18446744073709551615\n",
			want: news{site: long, head: Position{1<<64 - 1, 1<<64 - 1}}},
		{name: "nothing announced yet", payload: "spambloom1 head mx1 0-0\n", want: news{site: "mx1"}},

		{name: "empty", payload: "", wrong: "without a first line"},
		{name: "no newline", payload: "spambloom1 head mx1 7-12", wrong: "without a first line"},
		{name: "endless line", payload: strings.Repeat("x", 2000) + "\n", wrong: "without a first line"},
		{name: "other version", payload: "spambloom2 head mx1 7-12\n", wrong: "another version"},
		{name: "garbage", payload: "\xff\x00\x01\n", wrong: "another version"},
		{name: "word missing", payload: "spambloom1 head mx1\n", wrong: "are not VERSION"},
		{name: "word too much", payload: "spambloom1 head mx1 7-12 x\n", wrong: "are not VERSION"},
		{name: "site with a slash", payload: "spambloom1 head mx/1 7-12\n", wrong: "are not VERSION"},
		{name: "site too long", payload: "spambloom1 head s" + long + " 7-12\n", wrong: "are not VERSION"},
		{name: "leading zero", payload: "spambloom1 head mx1 07-12\n", wrong: "is not EPOCH-SEQ"},
		{name: "over 64 bits", payload: "spambloom1 head mx1 7-18446744073709551616\n", wrong: "is not EPOCH-SEQ"},
		{name: "sign", payload: "spambloom1 head mx1 7-+1\n", wrong: "is not EPOCH-SEQ"},
		{name: "head with record", payload: "spambloom1 head mx1 7-12\nx", wrong: "record of 1 bytes"},
		{name: "delta without", payload: "spambloom1 delta mx1 7-12\n", wrong: "record of 0 bytes"},
		{name: "unknown kind", payload: "spambloom1 tail mx1 7-12\n", wrong: "tail"},
		{name: "record too large", payload: "spambloom1 delta mx1 7-12\n" + strings.Repeat("x", maxNewsRecord+1), wrong: "bytes"},
		{name: "far too large", payload: strings.Repeat("x", 2<<20), wrong: "the limit is"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decodeNews([]byte(test.payload))
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("got %v, %v; want an error with %q", got, err, test.wrong)
				}
				if len(err.Error()) > 300 {
					t.Errorf("an error of %d bytes goes into the log", len(err.Error()))
				}
				return
			}
			if err != nil || got.site != test.want.site || got.head != test.want.head || !bytes.Equal(got.record, test.want.record) {
				t.Fatalf("got %v, %v", got, err)
			}
		})
	}
}

// What one site encodes is what another one reads.
func TestNewsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := news{
			site: rapid.StringMatching(`[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,63}`).Draw(t, "site"),
			head: Position{rapid.Uint64().Draw(t, "epoch"), rapid.Uint64().Draw(t, "seq")},
		}
		if rapid.Bool().Draw(t, "carried") {
			n.record = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "record")
		}
		line := n.line()
		if len(line) > maxNewsLine {
			t.Fatalf("a line of %d bytes", len(line))
		}
		got, err := decodeNews(append([]byte(line), n.record...))
		if err != nil || got.site != n.site || got.head != n.head || !bytes.Equal(got.record, n.record) {
			t.Fatalf("%v became %v, %v", n, got, err)
		}
	})
}

func FuzzNews(f *testing.F) {
	f.Fuzz(func(t *testing.T, payload []byte) {
		n, err := decodeNews(payload)
		if err != nil {
			if n.site != "" || n.record != nil {
				t.Fatal("an error and a result")
			}
			return
		}
		// What is accepted has exactly one encoding.
		if again := append([]byte(n.line()), n.record...); !bytes.Equal(again, payload) {
			t.Fatalf("%q is also %q", payload, again)
		}
	})
}

func TestPosition(t *testing.T) {
	order := []Position{{}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}}
	for i, p := range order {
		for j, q := range order {
			if p.after(q) != (i > j) {
				t.Errorf("%v after %v: %v", p, q, p.after(q))
			}
		}
		if got, err := parsePosition(p.String()); got != p || err != nil {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	max := Position{1, 1<<64 - 1}
	for _, test := range []struct {
		p, after Position
		want     bool
	}{
		{Position{1, 2}, Position{1, 1}, true},
		{Position{1, 1}, Position{1, 0}, true},
		{Position{1, 3}, Position{1, 1}, false},
		{Position{2, 1}, Position{1, 0}, false},
		{Position{1, 0}, max, false}, // no wrapping round
	} {
		if got := test.p.follows(test.after); got != test.want {
			t.Errorf("%v follows %v: %v", test.p, test.after, got)
		}
	}
	for _, test := range []struct {
		at, head Position
		want     uint64
	}{
		{Position{1, 5}, Position{1, 5}, 0},
		{Position{1, 5}, Position{1, 9}, 4},
		{Position{1, 5}, Position{1, 2}, 0},
		{Position{1, 5}, Position{3, 2}, 2},
	} {
		if got := test.at.lag(test.head); got != test.want {
			t.Errorf("lag of %v behind %v: %d", test.at, test.head, got)
		}
	}
}
