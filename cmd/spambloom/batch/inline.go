package batch

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// The header that mail programs write above a message forwarded inline has these in every language:
// addresses, and a line with the year and the time of day. What HTML and attached pictures have that looks
// like them is no part of it.
var (
	address = regexp.MustCompile(`(cid:)?[\w.+-]+@((?:[\w-]+\.)+[a-z]{2,})\b`)
	year    = regexp.MustCompile(`\b2[0-9]{3}\b`)
	clock   = regexp.MustCompile(`(?:^|[^0-9.:])(?:[01]?[0-9]|2[0-3]) ?[.:h] ?[0-5][0-9](?:$|[^0-9.]|\.(?:$|[^0-9]))`)
)

// isInline reports whether the text of m, without what is attached, contains the header of another
// message: m forwards that inline, and what was attached to that. An address of the domain that m comes
// from is no sign of it, because people sign with theirs.
func isInline(m signature.Message) (found bool) {
	var own []string
	for _, f := range m.Header {
		if strings.EqualFold(f.Name, "From") {
			own = append(own, domains(bytes.ToLower([]byte(f.Value)))...)
		}
	}
	signature.EachText(m, func(mediaType string, text []byte) {
		found = found || hasHeader(text, mediaType == "text/html", own)
	})
	return found
}

func hasHeader(text []byte, isHTML bool, own []string) bool {
	text = bytes.ToLower(text)
	if isHTML {
		text = withoutTags(text)
	}
	for line := range bytes.Lines(text) {
		if year.Match(line) && clock.Match(line) {
			return true
		}
	}
	for _, d := range domains(text) {
		if !isOwn(d, own) {
			return true
		}
	}
	return false
}

// withoutTags returns the text of a page in lower case, with a line for each piece between tags. Style
// sheets and comments are no text.
func withoutTags(page []byte) (text []byte) {
	for {
		before, rest, _ := bytes.Cut(page, []byte("<"))
		for _, b := range before {
			if b == '\n' {
				b = ' '
			}
			text = append(text, b)
		}
		end := ">"
		switch {
		case bytes.HasPrefix(rest, []byte("style")):
			end = "</style"
		case bytes.HasPrefix(rest, []byte("!--")):
			end = "-->"
		}
		var ok bool
		if _, page, ok = bytes.Cut(rest, []byte(end)); !ok {
			return text
		}
		text = append(text, '\n')
	}
}

// domains returns the domains of all addresses in a text in lower case.
func domains(text []byte) (list []string) {
	for _, found := range address.FindAllSubmatch(text, -1) {
		if len(found[1]) == 0 {
			list = append(list, string(found[2]))
		}
	}
	return list
}

// isOwn reports whether a domain is one of own, or above or below it.
func isOwn(domain string, own []string) bool {
	for _, o := range own {
		if domain == o || strings.HasSuffix(domain, "."+o) || strings.HasSuffix(o, "."+domain) {
			return true
		}
	}
	return false
}
