package mail_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		header    []mail.Field
		body      string
	}{
		{"empty", "", nil, ""},
		{"only headers", "Subject: x", []mail.Field{{Name: "Subject", Value: "x"}}, ""},
		{"only an empty line", "\r\n", nil, ""},
		{"no header", "\nhello\n", nil, "hello\n"},
		{"order and case", "b: 1\nA: 2\nb: 3\n\nhello", []mail.Field{{Name: "b", Value: "1"}, {Name: "A", Value: "2"}, {Name: "b", Value: "3"}}, "hello"},
		{"fold", "Subject: a\r\n\tb\r\n  c\r\n\r\n", []mail.Field{{Name: "Subject", Value: "a\n\tb\n  c"}}, ""},
		{"mixed line ends", "A: 1\r\nB: 2\n c\r\n\nhello\r\n", []mail.Field{{Name: "A", Value: "1"}, {Name: "B", Value: "2\n c"}}, "hello\r\n"},
		{"one blank is not value", "A:  1\nB:2\nC:\n\n", []mail.Field{{Name: "A", Value: " 1"}, {Name: "B", Value: "2"}, {Name: "C", Value: ""}}, ""},
		{"blank before the colon", "A : 1\n\nhello", []mail.Field{{Name: "A", Value: "1"}}, "hello"},
		{"mbox line", "From a@b.example Sat Nov 21 03:00:00 2026\nA: 1\n\nhello", []mail.Field{{Name: "A", Value: "1"}}, "hello"},
		{"quoted mbox line", ">From a@b.example Sat Nov 21 03:00:00 2026\nA: 1\n\nhello", []mail.Field{{Name: "A", Value: "1"}}, "hello"},
		{"From field", "From : a@b.example\n\nhello", []mail.Field{{Name: "From", Value: "a@b.example"}}, "hello"},
		{"leading blank", " x\nA: 1\n\nhello", []mail.Field{{Name: "A", Value: "1"}}, "hello"},
		{"no colon", "A: 1\nbroken\n still broken\nB: 2\n\nhello", []mail.Field{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, "hello"},
		{"8-bit name", "A: 1\nS\xfcbject: x\nB: 2\n\nhello", []mail.Field{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, "hello"},
		{"no empty line", "A: 1\nhello there\nBob\n", []mail.Field{{Name: "A", Value: "1"}}, "hello there\nBob\n"},
		{"no header at all", "hello there\nBob\n", nil, "hello there\nBob\n"},
		{"NUL in value", "A: 1\x002\n\nhello", []mail.Field{{Name: "A", Value: "1\x002"}}, "hello"},
		{"NUL in a type", "Content-Type: \x00a\x002\n\nhello", []mail.Field{{Name: "Content-Type", Value: "a 2"}}, "hello"},
		{"folds of a type", "Content-Type : a;\r\n b \r\n\r\nhello", []mail.Field{{Name: "Content-Type", Value: "a; b"}}, "hello"},
		{"empty name", ": x\nA: 1\n\nhello", []mail.Field{{Name: "A", Value: "1"}}, "hello"},
	} {
		got := mail.Parse([]byte(tt.raw))
		if !reflect.DeepEqual(got.Header, tt.header) || string(got.Body) != tt.body || got.Truncated {
			t.Errorf("%s: got %q and body %q, want %q and %q", tt.name, got.Header, got.Body, tt.header, tt.body)
		}
	}
}

func TestParseLongLine(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	m := mail.Parse([]byte("A: " + long + "\n\nhello"))
	if len(m.Header) != 1 || m.Header[0].Value != long || !bytes.Equal(m.Body, []byte("hello")) {
		t.Errorf("got %d fields and body of %d bytes", len(m.Header), len(m.Body))
	}
}

// A field that only a message has makes a message. Other files begin with lines that look
// like fields, too.
func TestHasHeader(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		want      bool
	}{
		{"empty", "", false},
		{"usual", "From: a@b.example\nSubject: x\n\nhello", true},
		{"added by a server", "Received: from x by y\n\nhello", true},
		{"any case, blank before the colon", "sUBJECT : x\n\nhello", true},
		{"mbox", "From a@b.example Sat Nov 21 03:00:00 2026\nTo: c@d.example\n\nhello", true},
		{"only unknown fields", "X-Odd: 1\nA: 2\n\nhello", false},
		{"fields in the body", "hello\n\nFrom: a@b.example\n", false},
		{"text", "Permission is hereby granted, free of charge\nto any person\n", false},
		{"program", "\x7fELF\x02\x01\x01\x00\x00From: a\n", false},
		{"makefile", ".PHONY: build\nbuild: main.go\n\tgo build\n", false},
		{"settings", "---\ntitle: x\ndate: 2026-11-20\n---\n", false},
	} {
		if got := mail.Parse([]byte(tt.raw)).HasHeader(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestParseWithin is the attack "many fields" on what is parsed as a whole, traps and the page: no line
// before the fields hides them from the bound. They take at most half of it, and the body the rest.
func TestParseWithin(t *testing.T) {
	hidden := strings.Repeat("a:\n", 100) + "Content-Disposition: attachment\nContent-ID: <a>\nContent-Type: multipart/mixed; boundary=b\n\n" // behind other types, too
	for _, before := range []string{"", strings.Repeat("Content-Type: a\n", 2), strings.Repeat("Content-Type: a\n", 100)} {
		m, _ := mail.ParseWithin([]byte(before+hidden), 5_000)
		types := slices.DeleteFunc(slices.Clone(m.Header), func(f mail.Field) bool { return !f.Is("Content-Type") })
		if mail.Value(m.Header, "Content-Disposition") != "attachment" || mail.Value(m.Header, "Content-ID") != "<a>" || len(types) == 0 || types[len(types)-1].Value != "multipart/mixed; boundary=b" {
			t.Errorf("behind %.20q: %d fields, at their end %v", before, len(m.Header), m.Header[max(0, len(m.Header)-4):])
		}
	}
	const most, fields, body = 10 * (2 + 64), 1_000, "Content-Type: a\n\nb"
	for _, before := range []string{"", "From x\n", "\r\r\n", " \n", "\r", ">From x\n\r\r\n"} {
		m, isCut := mail.ParseWithin([]byte(before+strings.Repeat("a:\n", fields)+body), most)
		if n := len(m.Header); n < 5 || n > 6 || mail.Value(m.Header, "Content-Type") != "a" || string(m.Body) != "b" || m.Truncated || !isCut {
			t.Errorf("%q before them: %d fields, the body %q; truncated %v, cut %v", before, n, m.Body, m.Truncated, isCut)
		}
	}
	for _, field := range []string{"Content-a", "Content-Type", "Content-Transfer-Encoding: 8bit\nContent-a"} { // nor how the body is read
		m, _ := mail.ParseWithin([]byte(strings.Repeat(field+":\n", fields)+"Content-Type: a\n\nb"), 1_000)
		if mail.Value(m.Header[len(m.Header)-1:], "Content-Type") != "a" || string(m.Body) != "b" {
			t.Errorf("%s: the fields %q, the body %q", field, m.Header, m.Body)
		}
	}
	for n, want := range map[int]int{100: 100, most: most - 3*2} { // what is charged for a field takes nothing from the body
		m, isCut := mail.ParseWithin([]byte(strings.Repeat("a: b\n", 3)+"\n"+strings.Repeat("b", n)), most)
		if isLonger := n > want; len(m.Body) != want || m.Truncated != isLonger || isCut != isLonger {
			t.Errorf("%d of %d bytes of the body, want %d; truncated %v, cut %v", len(m.Body), n, want, m.Truncated, isCut)
		}
	}
}
