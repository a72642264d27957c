package whiteclnt

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/milter"
)

// whitespace is what parts the words of a line.
const whitespace = " \t\r\n"

// passedCounts are DCC's counts but ok, and why a line with them is passed over.
var passedCounts = map[string]string{
	"ok2":    "ok2 is half a word for a mail, and rules do not add up",
	"many":   "a blacklist is not taken over",
	"number": "a blacklist is not taken over",
	"mx":     "for an MX of ours, see local_networks",
	"mxdcc":  "for an MX of ours, see local_networks",
	"submit": "for a client that submits, see local_networks",
}

// types are DCC's types. Those of checksums come with hex only.
var types = []string{"ip", "env_from", "from", "env_to", "substitute", "message_id", "received", "body", "fuz1", "fuz2"}

// line reads one line without the white space at its end.
func (r *reader) line(line string) error {
	text := strings.TrimLeft(line, whitespace)
	if len(line) > maxLine {
		return fmt.Errorf("line of %d bytes, over %d", len(line), maxLine)
	}
	if text == "" || text[0] == '#' {
		return nil
	}
	word, rest := cutWord(text)
	switch {
	case strings.EqualFold(word, "include") && rest != "":
		return r.include(rest)
	case strings.EqualFold(word, "option") && rest != "":
		r.count = ""
		return r.option(rest)
	case text == line: // no white space before: it has a count
		count, err := parseCount(word)
		r.count, text = count, rest
		if err != nil {
			return err
		}
	}
	if r.count == "" {
		return errors.New("no count, and none before to go on with")
	}
	return r.entry(text)
}

// cutWord parts the first word from the rest.
func cutWord(s string) (word, rest string) {
	end := strings.IndexAny(s, whitespace)
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], whitespace)
}

// unreadable is the count of a line whose own is wrong. The lines that go on with it
// are not wrong for that.
const unreadable = "unreadable"

// parseCount gives "number" for all of them.
func parseCount(word string) (string, error) {
	if n, err := strconv.ParseUint(word, 0, 64); err == nil && n > 0 {
		return "number", nil
	}
	count := strings.ToLower(word)
	if count == "ok" || passedCounts[count] != "" && count != "number" {
		return count, nil
	}
	return unreadable, fmt.Errorf("%q is no count: want ok, ok2, many, mx, mxdcc, submit or a number", word)
}

// entry reads type and value.
func (r *reader) entry(text string) error {
	kind, value := cutWord(text)
	hex := strings.EqualFold(kind, "hex")
	if hex {
		kind, value = cutWord(value)
	}
	name := strings.NewReplacer("-", "_", ".", "_").Replace(strings.TrimRight(strings.ToLower(kind), ":"))
	switch {
	case kind == "":
		return errors.New("no type")
	case !slices.Contains(types, name):
		return fmt.Errorf("%q is no type: want ip, env_From, from, env_To, substitute, Message-ID or Received, or hex before the type of a checksum", kind)
	case value == "":
		return fmt.Errorf("%s without a value", kind)
	case name != "ip" && slices.Contains([]string{"mx", "mxdcc", "submit"}, r.count):
		return fmt.Errorf("%s is for the type ip, not %s", r.count, kind)
	case hex:
		return r.checksum(name, value)
	case slices.Contains([]string{"body", "fuz1", "fuz2"}, name):
		return fmt.Errorf("%s without hex before it", kind)
	}
	return r.take(name, value)
}

// checksum passes over four groups of hexadecimal digits; of a substitute, the name of
// its header may stand before.
func (r *reader) checksum(name, value string) error {
	words := strings.Fields(value)
	if name == "substitute" && len(words) == 5 {
		words = words[1:]
	}
	for _, word := range words {
		if _, err := strconv.ParseUint(word, 16, 32); err != nil || len(words) != 4 {
			return fmt.Errorf("%q is no checksum", value)
		}
	}
	r.pass("checksums are not taken over")
	return nil
}

// take makes a condition of the value, if there is one for it.
func (r *reader) take(name, value string) error {
	header := ""
	if name == "substitute" {
		if header, value = cutHeader(value); header == "" || value == "" {
			return errors.New("substitute without a header or a value")
		}
	}
	networks, isIP, err := parseIP(name, value)
	if err != nil {
		return err
	}
	if r.count != "ok" {
		r.pass(passedCounts[r.count])
		return nil
	}
	switch {
	case isIP:
		r.networks = append(r.networks, networks...)
	case name == "ip":
		r.pass("a host name; no request to the DNS is made")
	case name == "env_from" && bare(value) == "":
		r.pass("the empty sender is never allowed")
	case name == "env_from":
		r.pattern(&r.senders, address(bare(value)), value)
	case name == "env_to":
		r.pattern(&r.recipients, address(bare(value)), value)
	case name == "from":
		r.pattern(&r.from, address(strings.Trim(within(value), `'",`)), value)
	case header == "mail_host":
		r.pattern(&r.senders, domain(bare(value)), value)
	case header == "list_id":
		r.listID(value)
	case header != "":
		r.pass("no condition for this header")
	default:
		r.pass("no condition for this type")
	}
	return nil
}

// pattern adds to a list of patterns, if the value is one.
func (r *reader) pattern(list *[]string, pattern, value string) {
	if pattern == "" {
		r.pass(fmt.Sprintf("%q is no address as a rule has it", value))
		return
	}
	*list = append(*list, pattern)
}

// listID adds the id of a list.
func (r *reader) listID(value string) {
	id := strings.ToLower(strings.Trim(within(value), `'",`))
	if id == "" || strings.ContainsAny(id, "<> \t") {
		r.pass(fmt.Sprintf("%q is no id of a list", value))
		return
	}
	r.listIDs = append(r.listIDs, id)
}

// cutHeader parts the header's name from the value of a substitute.
func cutHeader(value string) (header, rest string) {
	end := strings.IndexAny(value, whitespace+":")
	if end < 0 {
		return value, ""
	}
	return strings.ReplaceAll(strings.ToLower(value[:end]), "-", "_"), strings.TrimLeft(value[end+1:], whitespace)
}

// bare is a value as DCC compares it: without white space, brackets, quotes and commas,
// and without dots at its end. It is in lower case once it is a pattern.
func bare(value string) string {
	value = strings.Map(func(c rune) rune {
		if strings.ContainsRune(whitespace+`<>'",`, c) {
			return -1
		}
		return c
	}, value)
	return strings.TrimRight(value, ".")
}

// within is what stands in the brackets, else the whole value.
func within(value string) string {
	begin, end := strings.LastIndexByte(value, '<'), strings.LastIndexByte(value, '>')
	if begin >= 0 && end == len(value)-1 && begin < end {
		return value[begin+1 : end]
	}
	return value
}

// address is the pattern of one address; "" if the text is none. A domain alone is
// none: to DCC it is not the pattern of the domain's addresses either.
func address(text string) string {
	pattern, err := milter.ParsePattern(text)
	if err != nil || !strings.Contains(text, "@") {
		return ""
	}
	return pattern
}

// domain is the pattern of a domain, without those below; "" if the text is none.
func domain(text string) string {
	pattern, err := milter.ParsePattern(text)
	if err != nil || strings.Contains(text, "@") || strings.HasPrefix(text, ".") {
		return ""
	}
	return pattern
}
