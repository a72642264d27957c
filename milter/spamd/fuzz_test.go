package spamd

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// Whatever a client sends, its request is read within its bounds or refused with an error
// that names it, and every value is one that the commands expect.
func FuzzReadRequest(f *testing.F) {
	f.Add("CHECK SPAMC/1.5\r\nUser: anna\r\nContent-length: 10\r\n\r\n")
	f.Add("TELL SPAMC/1.3\r\nMessage-class: spam\r\nSet: local, remote\r\nRemove: local\r\n\r\n")
	f.Add("PROCESS SPAMC/1.2\r\nCompress: zlib\r\nX: y\r\n\r\n")
	f.Add("PING SPAMC/1.2\n")
	f.Fuzz(func(t *testing.T, sent string) {
		in := bufio.NewReaderSize(strings.NewReader(sent), maxLine)
		q, err := readRequest(in)
		if err != nil {
			if !errors.Is(err, errRequest) && err != io.EOF {
				t.Fatalf("%q: %v", sent, err)
			}
			return
		}
		of, known := commands[q.command]
		if !known || q.version < 100 || q.version > 199 || q.length < -1 {
			t.Errorf("%q: %+v", sent, q)
		}
		if !of.hasMessage && (q.user != "" || q.length != -1) {
			t.Errorf("%q: %+v has headers", sent, q)
		}
		if strings.ContainsAny(q.user+q.class, "\r\n") && !strings.Contains(strings.TrimRight(sent, "\r\n"), "\r") {
			t.Errorf("%q: %+v has a line's end", sent, q)
		}
		isSpam, err := q.says()
		if err == nil && (isSpam != (q.class == "spam") || q.set == places{} && q.remove == places{}) {
			t.Errorf("%q: %+v reported: %v", sent, q, isSpam)
		}
	})
}

// A message that arrives with a verdict leaves with one verdict, ours, and all its other fields.
func FuzzTag(f *testing.F) {
	f.Add("From: a\r\nX-Spambloom: spam\r\n folded\r\n\r\n")
	f.Add("From anna Mon\nSubject: x\n\n")
	f.Add("\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, header string) {
		r := &result{score: 10, threshold: 5, symbols: []string{"SPAMBLOOM_SPAM"}, field: "spam; site=mx1"}
		tagged := string(r.tag([]byte(header)))
		again := string(r.tag([]byte(tagged)))
		if !strings.HasSuffix(tagged, "\n") || again != tagged && !strings.HasPrefix(header, "From ") && header != "" && header != "\n" && header != "\r\n" && strings.HasSuffix(header, "\n\n") {
			t.Errorf("%q: %q, then %q", header, tagged, again)
		}
		for _, name := range []string{fieldVerdict, fieldFlag, fieldStatus, fieldLevel} {
			n := 0
			for line := range strings.Lines(tagged) {
				if before, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimRight(before, " \t"), name) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%q has %d %s: %q", header, n, name, tagged)
			}
		}
	})
}
