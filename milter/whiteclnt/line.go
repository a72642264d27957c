package whiteclnt

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/milter/policy"
)

// whitespace separates the words of a line.
const whitespace = " \t\r\n"

// passedCounts maps DCC's counts other than ok to the reason for skipping their lines.
var passedCounts = map[string]string{
	"ok2":    "ok2 is half a vote for a message; rules cannot be added up",
	"many":   "blacklists are not imported",
	"number": "blacklists are not imported",
	"mx":     "for an MX of your own, use local_networks",
	"mxdcc":  "for an MX of your own, use local_networks",
	"submit": "for a submitting client, use local_networks",
}

// types are DCC's types. The types of checksums need hex.
var types = []string{"ip", "env_from", "from", "env_to", "substitute", "message_id", "received", "body", "fuz1", "fuz2"}

// line reads one line without trailing white space.
func (r *reader) line(line string) error {
	text := strings.TrimLeft(line, whitespace)
	if len(line) > maxLine {
		return fmt.Errorf("line of %d bytes, limit %d", len(line), maxLine)
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
	case text == line: // no leading white space: the line has a count
		count, err := r.parseCount(word)
		r.count, text = count, rest
		if err != nil {
			return err
		}
	}
	if r.count == "" {
		return errors.New("line without a count, and no earlier count applies")
	}
	return r.entry(text)
}

// cutWord splits off the first word.
func cutWord(s string) (word, rest string) {
	end := strings.IndexAny(s, whitespace)
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], whitespace)
}

// unreadable stands for an invalid count. Lines that continue such a line are not errors.
const unreadable = "unreadable"

// parseCount returns "number" for all numbers.
func (r *reader) parseCount(word string) (string, error) {
	if n, err := strconv.ParseUint(word, 0, 64); err == nil && n > 0 {
		return "number", nil
	}
	count := strings.ToLower(word)
	if count == "ok" || passedCounts[count] != "" && count != "number" {
		return count, nil
	}
	return unreadable, fmt.Errorf("invalid count%s: must be ok, ok2, many, mx, mxdcc, submit or a number", r.quote(word))
}

// quote returns a space and a faulty word, or nothing in an included file: who writes the list could
// name a file of keys, and errors go to the log.
func (r *reader) quote(word string) string {
	if r.included {
		return ""
	}
	return " " + strconv.Quote(word)
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
		return fmt.Errorf("unknown type%s: must be ip, env_From, from, env_To, substitute, Message-ID or Received, or hex before the type of a checksum", r.quote(kind))
	case value == "":
		return fmt.Errorf("%s without a value", kind)
	case name != "ip" && slices.Contains([]string{"mx", "mxdcc", "submit"}, r.count):
		return fmt.Errorf("count %s requires the type ip, not %s", r.count, kind)
	case hex:
		return r.checksum(name, value)
	case slices.Contains([]string{"body", "fuz1", "fuz2"}, name):
		return fmt.Errorf("%s without hex before it", kind)
	}
	return r.take(name, value)
}

// checksum skips four groups of hexadecimal digits; for substitute, the name of its header
// may precede them.
func (r *reader) checksum(name, value string) error {
	words := strings.Fields(value)
	if name == "substitute" && len(words) == 5 {
		words = words[1:]
	}
	for _, word := range words {
		if _, err := strconv.ParseUint(word, 16, 32); err != nil || len(words) != 4 {
			return fmt.Errorf("%q is not a checksum", value)
		}
	}
	r.pass("checksums are not imported")
	return nil
}

// take turns the value into a condition, if there is one for it.
func (r *reader) take(name, value string) error {
	header := ""
	if name == "substitute" {
		if header, value = cutHeader(value); header == "" || value == "" {
			return errors.New("substitute without a header or a value")
		}
	}
	if r.blocks > maxBlocks {
		return fmt.Errorf("more than %d blocks of addresses; a range takes up to 254", maxBlocks)
	}
	networks, isIP, err := parseIP(name, value)
	if err != nil {
		return err
	}
	r.blocks += len(networks)
	if r.count != "ok" {
		r.pass(passedCounts[r.count])
		return nil
	}
	switch {
	case isIP:
		r.networks = append(r.networks, networks...)
	case name == "ip":
		r.pass("host names are not looked up in the DNS")
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
		r.pass("this header is not supported")
	default:
		r.pass("this type is not supported")
	}
	return nil
}

// pattern adds the pattern to a list, unless it is empty.
func (r *reader) pattern(list *[]string, pattern, value string) {
	if pattern == "" {
		r.pass(fmt.Sprintf("%q is not an address that a rule can use", value))
		return
	}
	*list = append(*list, pattern)
}

// listID adds a list's identifier.
func (r *reader) listID(value string) {
	id := strings.ToLower(strings.Trim(within(value), `'",`))
	if id == "" || strings.ContainsAny(id, "<> \t") {
		r.pass(fmt.Sprintf("%q is not a list identifier", value))
		return
	}
	r.listIDs = append(r.listIDs, id)
}

// cutHeader splits the header's name from the value of a substitute.
func cutHeader(value string) (header, rest string) {
	end := strings.IndexAny(value, whitespace+":")
	if end < 0 {
		return value, ""
	}
	return strings.ReplaceAll(strings.ToLower(value[:end]), "-", "_"), strings.TrimLeft(value[end+1:], whitespace)
}

// bare returns a value as DCC compares it: without white space, brackets, quotes and
// commas, and without trailing dots. ParsePattern later converts it to lower case.
func bare(value string) string {
	value = strings.Map(func(c rune) rune {
		if strings.ContainsRune(whitespace+`<>'",`, c) {
			return -1
		}
		return c
	}, value)
	return strings.TrimRight(value, ".")
}

// within returns the text in brackets, or the whole value if there are none.
func within(value string) string {
	begin, end := strings.LastIndexByte(value, '<'), strings.LastIndexByte(value, '>')
	if begin >= 0 && end == len(value)-1 && begin < end {
		return value[begin+1 : end]
	}
	return value
}

// address returns the pattern of one address, or "" if the text is none. A domain alone is
// not an address: in DCC it does not match the domain's addresses either.
func address(text string) string {
	pattern, err := policy.ParsePattern(text)
	if err != nil || !strings.Contains(text, "@") {
		return ""
	}
	return pattern
}

// domain returns the pattern of a domain without its subdomains, or "" if the text is none.
func domain(text string) string {
	pattern, err := policy.ParsePattern(text)
	if err != nil || strings.Contains(text, "@") || strings.HasPrefix(text, ".") {
		return ""
	}
	return pattern
}
