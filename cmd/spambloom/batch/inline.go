package batch

import (
	"bytes"
	"html"
	"iter"
	"regexp"
	"strings"
	"unicode"

	"github.com/spambloom/spambloom/signature"
)

// The header that mail programs write above a message forwarded inline has these in every language:
// addresses, and a line with the date and the time of day. Some copy both as the sender wrote them, so that
// addresses have any form, and years two digits. All write the year that the sender chose, and the calendars
// of Iran and Arabia have years of their own. Danish and Finnish write a time with seconds as 13.05.06, which
// alone could be a date. What attached pictures have that looks like an address is no part of it, nor are
// names in networks, such as @anna.
var (
	address = regexp.MustCompile(`(cid:)?([^\s@<(\[]*)@([\pL\pM\pN._-]*)`)
	year    = `\b(?:1[349]|2[0-9])[0-9]{2}\b`
	named   = `\b[0-9]{1,2}\.?[ -]\pL+\.?[ -][0-9]{2,5}\b` // the month has a name
	date    = regexp.MustCompile(year + `|` + named + `|\b[0-9]{1,2}[./-] ?[0-9]{1,2}[./-] ?[0-9]{2,5}\b` +
		`|\b[0-9]{4}[./-] ?[0-9]{1,2}[./-] ?[0-9]{1,2}\b|\pL\.? [0-9]{1,2}, [0-9]{2,5}\b|[0-9] ?[年년]`)
	clock = regexp.MustCompile(`(?:^|[^0-9.:])(?:[01]?[0-9]|2[0-3]) ?[.:h時时點点시] ?[0-5][0-9](?:$|[^0-9.]|\.(?:$|[^0-9]))`)
	dots  = regexp.MustCompile(`(?:` + year + `|` + named + `).*[^0-9.](?:[01]?[0-9]|2[0-3])\.[0-5][0-9]\.[0-5][0-9](?:$|[^0-9])`)

	folds  = regexp.MustCompile(`\r?\n[ \t]+`)
	blanks = regexp.MustCompile(`[ \t\pZ]+`)
)

// isInline reports whether the text of m, without what is attached, contains the header of another
// message: m forwards that inline, and what was attached to that. An address of the domain that m comes
// from is no sign of it, because people sign with theirs.
func isInline(m signature.Message) (found bool) {
	own := ""
	for _, f := range m.Header {
		if strings.EqualFold(f.Name, "From") {
			for d := range domains(bytes.ToLower([]byte(f.Value))) {
				own = d // only the last one: names come first, and thousands would all be compared
			}
		}
	}
	signature.EachText(m, func(mediaType string, text []byte) {
		found = found || hasHeader(text, mediaType == "text/html", own)
	})
	return found
}

func hasHeader(text []byte, isHTML bool, own string) bool {
	text = bytes.ToLower(text)
	if isHTML {
		text = bytes.ToLower(withoutTags(text)) // again, because of references such as &#65;
	}
	for line := range bytes.Lines(folds.ReplaceAll(bytes.Map(digit, text), []byte(" "))) {
		line = blanks.ReplaceAll(line, []byte(" "))
		if date.Match(line) && clock.Match(line) || dots.Match(line) {
			return true
		}
	}
	for d := range domains(text) {
		if !isOwn(d, own) {
			return true
		}
	}
	return false
}

// digit returns the ASCII digit for a decimal digit of any script, and other runes as they are.
func digit(r rune) rune {
	if r > unicode.MaxASCII && unicode.Is(unicode.Nd, r) {
		for _, digits := range unicode.Nd.R16 { // Each range has whole sets of ten.
			if lo := rune(digits.Lo); lo <= r && r <= rune(digits.Hi) {
				return '0' + (r-lo)%10
			}
		}
	}
	return r
}

// withoutTags returns the text of a page in lower case, with a line for each piece between tags. Style
// sheets and comments are no text. Character references are decoded: some programs write "@" and ":" so.
func withoutTags(page []byte) (text []byte) {
	for {
		before, rest, _ := bytes.Cut(page, []byte("<"))
		text = append(text, strings.ReplaceAll(html.UnescapeString(string(before)), "\n", " ")...)
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

// domains yields the domains of all addresses in a text in lower case; "" for one of another form.
func domains(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			at := address.FindSubmatchIndex(text)
			if at == nil {
				return
			}
			isPicture, local, domain := at[2] >= 0, text[at[4]:at[5]], bytes.Trim(text[at[6]:at[7]], ".-_")
			text = text[at[1]:]
			isName := !bytes.Contains(domain, []byte(".")) && (len(local) == 0 || bytes.HasSuffix(local, []byte("/")))
			if !isPicture && !isName && !yield(string(domain)) {
				return
			}
		}
	}
}

// isOwn reports whether a domain is own, or above or below it.
func isOwn(domain, own string) bool {
	return domain != "" && (domain == own || isBelow(domain, own) || isBelow(own, domain))
}

// isBelow copies neither name: both may be as long as a message, and there may be as many as fit into it.
func isBelow(domain, above string) bool {
	before, ok := strings.CutSuffix(domain, above)
	return ok && strings.HasSuffix(before, ".")
}
