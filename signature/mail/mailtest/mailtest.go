// Package mailtest contains mail for tests of signatures: ordinary text, nested parts, and texts as
// mail servers deliver them.
package mailtest

import (
	"fmt"
	"strings"
)

// Prose is the text of an ordinary letter.
const Prose = "The committee met on Thursday to look at the plans for a new bridge across the river.\n" +
	"Several engineers spoke in favour of stone, others of steel, and a few of doing nothing at all.\n"

// asPostfix returns text as Postfix delivers it if a line is longer than limit.
func asPostfix(text string, limit int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > limit {
			out, line = append(out, line[:limit]), " "+line[limit:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// asSendmail returns text as Sendmail delivers it if a line is longer than limit.
func asSendmail(text string, limit int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for {
			dot := 0
			if strings.HasPrefix(line, ".") {
				dot = 1
			}
			if dot+len(line) <= limit {
				break
			}
			at := limit - 1 - dot
			out, line = append(out, line[:at]+"!"), line[at:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Deliveries are the ways in which servers break long lines, also one after the other.
var Deliveries = map[string]func(string) string{
	"Postfix":                     func(s string) string { return asPostfix(s, 998) },
	"Sendmail":                    func(s string) string { return asSendmail(s, 990) },
	"Sendmail relay":              func(s string) string { return asSendmail(s, 2040) },
	"Sendmail relay and Postfix":  func(s string) string { return asPostfix(asSendmail(s, 2040), 998) },
	"Postfix and Sendmail":        func(s string) string { return asSendmail(asPostfix(s, 998), 990) },
	"Sendmail relay and Sendmail": func(s string) string { return asSendmail(asSendmail(s, 2040), 990) },
}

// Nested returns a message of multiparts inside each other.
func Nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
	}
	b.WriteString("\r\n" + Prose + "\r\n")
	for i := depth - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "--b%d--\r\n", i)
	}
	return b.String()
}
