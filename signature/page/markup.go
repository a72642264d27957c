package page

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/work"
)

// markup splits an HTML page into tokens (HTML Standard, section 13.2.5). It makes no
// copies, and keeps only the attributes in attributeNames. Tests compare it with
// html.Tokenizer of golang.org/x/net; the tokens agree to the byte.
type markup struct {
	source []byte
	pos    int
	raw    string // the element inside which only its own end tag counts

	text       []byte // of a text token or comment, as it stands in source
	rawElement string // the element whose raw text it is
	name       []byte // of a tag, in lower case
	attrs      []attr // of a start tag, the first of each name
	isClosed   bool   // the start tag ends with a slash
	layout     uint32 // of a start tag: a bit for each attribute of layoutAttributes
	isTiny     bool   // its width or height is 2 or less

	scratch []byte
}

// markupToken is the sort of token that next returned.
type markupToken uint8

const (
	markupEnd markupToken = iota // of the page, or a tag without an end
	markupText
	markupStart  // a start tag
	markupFinish // an end tag
	markupComment
)

// attr is an attribute: its name in lower case, and the place of its value in the page.
type attr struct {
	attribute
	start, end int
}

// begin starts with a page, which is not changed.
func (m *markup) begin(source []byte) {
	*m = markup{source: source, name: m.name[:0], attrs: m.attrs[:0], scratch: m.scratch[:0]}
}

// reset empties m. It keeps buffers that are not too large.
func (m *markup) reset() {
	*m = markup{name: work.Keep(m.name), attrs: m.attrs[:0], scratch: work.Keep(m.scratch)}
}

// next reads the next token.
func (m *markup) next() markupToken {
	if m.raw != "" && m.rawText() {
		return markupText
	}
	for from := m.pos; ; {
		i := bytes.IndexByte(m.source[m.pos:], '<')
		if i < 0 || m.pos+i+1 == len(m.source) {
			m.pos = len(m.source)
			return m.textFrom(from)
		}
		at := m.pos + i
		c := m.source[at+1]
		if !opensTag(c) && c != '!' && c != '?' {
			m.pos = at + 1
			continue
		}
		if at > from {
			m.pos = at
			return m.textFrom(from)
		}
		if ascii.IsLetter(c) {
			return m.startTag(at)
		}
		if c != '/' {
			m.pos = m.skipDeclaration(at + 1)
			m.text = m.source[at+2 : m.pos]
			return markupComment
		}
		if at+2 == len(m.source) {
			m.pos = len(m.source)
			return m.textFrom(from)
		}
		if ascii.IsLetter(m.source[at+2]) {
			return m.endTag(at)
		}
		m.pos = skipTo(m.source, at+2, '>')
		from = m.pos
	}
}

// opensTag reports whether a tag may begin with c behind its "<".
func opensTag(c byte) bool { return c == '/' || ascii.IsLetter(c) }

// textFrom returns the text token up to here.
func (m *markup) textFrom(from int) markupToken {
	m.text, m.rawElement = m.source[from:m.pos], ""
	if len(m.text) == 0 {
		return markupEnd
	}
	return markupText
}

// skipDeclaration returns where a comment, or other text that begins with "<!" or "<?",
// ends; at is behind the "<".
func (m *markup) skipDeclaration(at int) int {
	if !bytes.HasPrefix(m.source[at:], []byte("!--")) {
		return skipTo(m.source, at, '>')
	}
	dashes, begins := 0, true
	for at += 3; at < len(m.source); at++ {
		c := m.source[at]
		if c == '-' {
			dashes++
			continue
		}
		if c == '>' && (dashes >= 2 || begins) {
			return at + 1
		}
		if c == '!' && dashes >= 2 {
			if at++; at == len(m.source) || m.source[at] == '>' {
				return min(at+1, len(m.source))
			}
			if m.source[at] == '-' {
				dashes, begins = 1, false
				continue
			}
		}
		dashes, begins = 0, false
	}
	return at
}

func (m *markup) endTag(at int) markupToken {
	m.attrs = m.attrs[:0]
	if !m.tag(at+2, false) {
		return markupEnd
	}
	return markupFinish
}

func (m *markup) startTag(at int) markupToken {
	m.attrs = m.attrs[:0]
	if !m.tag(at+1, true) {
		return markupEnd
	}
	switch c := m.name[0]; c {
	case 'i', 'n', 'p', 's', 't', 'x':
		for _, name := range rawElements {
			if string(m.name) == name {
				m.raw = name
			}
		}
	}
	return markupStart
}

// rawElements contain text without tags. So would noscript if scripts ran; in mail they
// do not.
var rawElements = []string{"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}

// tag reads a tag whose name begins at pos. It is not ok if the page ends first.
func (m *markup) tag(pos int, keeps bool) (ok bool) {
	begin, source := pos, m.source
	for pos < len(source) && !ascii.IsSpace(source[pos]) && source[pos] != '/' && source[pos] != '>' {
		pos++
	}
	m.name, m.layout = ascii.AppendLower(m.name[:0], source[begin:pos]), 0
	m.isTiny = false
	if bytes.IndexByte(m.name, 0) >= 0 {
		m.name = bytes.ReplaceAll(m.name, []byte{0}, []byte("\ufffd"))
	}
	for last := 0; ; { // last is where the value of the last attribute ends
		if pos = skipSpace(source, pos); pos == len(source) {
			return false
		}
		if source[pos] == '>' {
			m.pos, m.isClosed = pos+1, source[pos-1] == '/' && pos != last
			return true
		}
		var a attr
		pos = m.attribute(&a, pos)
		if a.end > a.start {
			last = a.end
		}
		if m.layout |= a.layout; a.layout&(widthBit|heightBit) != 0 {
			m.isTiny = m.isTiny || isTiny(source[a.start:a.end])
		}
		if keeps && a.key != "" && !m.has(a.key) {
			m.attrs = append(m.attrs, a)
		}
	}
}

// attribute reads the attribute at pos, and returns where it ends.
func (m *markup) attribute(a *attr, pos int) int {
	source, begin := m.source, pos
	for pos < len(source) && !ascii.IsSpace(source[pos]) && source[pos] != '/' && source[pos] != '>' && (source[pos] != '=' || pos == begin) {
		pos++
	}
	a.attribute = attributeNames.of(source[begin:pos])
	if pos = skipSpace(source, pos); pos == len(source) || source[pos] != '=' {
		if pos < len(source) && source[pos] == '/' {
			pos++
		}
		a.start, a.end = pos, pos
		return pos
	}
	pos = skipSpace(source, pos+1)
	a.start, a.end = pos, pos
	switch {
	case pos == len(source) || source[pos] == '>':
		return pos
	case source[pos] == '"' || source[pos] == '\'':
		i := bytes.IndexByte(source[pos+1:], source[pos])
		if i < 0 {
			return len(source)
		}
		a.start, a.end = pos+1, pos+1+i
		return a.end + 1
	}
	for pos < len(source) && !ascii.IsSpace(source[pos]) && source[pos] != '>' {
		pos++
	}
	a.end = pos
	return pos
}

func skipSpace(b []byte, pos int) int {
	for pos < len(b) && ascii.IsSpace(b[pos]) {
		pos++
	}
	return pos
}

// eventAttribute stands for each attribute whose name begins with "on". A tag has one: more would
// cost the square of their number.
const eventAttribute = "on"

// attribute is what a page needs of the name of an attribute.
type attribute struct {
	key    string // the name, if its value has a use for a page, otherwise ""
	layout uint32 // its bit, if its presence is part of a skeleton
}

type attributes map[string]attribute

// of returns what is known of a name.
func (known attributes) of(name []byte) attribute {
	var buf [11]byte
	if len(name) > 2 && name[0]|0x20 == 'o' && name[1]|0x20 == 'n' {
		return attribute{key: eventAttribute}
	}
	if len(name) > len(buf) {
		return attribute{}
	}
	return known[string(ascii.AppendLower(buf[:0], name))]
}

var attributeNames = func() attributes {
	m := make(attributes)
	for _, name := range []string{"hidden", "popover", "style", "class", "id", "type", "cite", "bgcolor", "background", "color", "dir", "text", "title",
		"open", "href", "action", "formaction", "xlink:href", "src", "data", "poster", "longdesc", "ping", "lowsrc", "dynsrc", "codebase",
		"archive", "srcset", "content", "alt", "value", "placeholder", "label", "srcdoc"} {
		m[name] = attribute{key: name}
	}
	for i, name := range layoutAttributes {
		m[name] = attribute{m[name].key, 1 << i}
	}
	return m
}()

// isTiny reports whether a width or height is 2 or less.
func isTiny(value []byte) bool {
	value = bytes.TrimSuffix(bytes.TrimSpace(value), []byte("px"))
	return len(value) == 1 && '0' <= value[0] && value[0] <= '2'
}

// The bits of two layoutAttributes.
const widthBit, heightBit = 1 << 0, 1 << 1

// layoutAttributes are those whose presence is part of a page's structure. Classes, names
// and texts are not: they are easily made up.
var layoutAttributes = []string{"width", "height", "style", "bgcolor", "background", "href", "src", "align", "valign", "border",
	"cellpadding", "cellspacing", "colspan", "rowspan", "action", "type", "usemap", "coords", "nowrap", "hspace", "vspace", "color"}

func (m *markup) has(key string) bool {
	for _, a := range m.attrs {
		if a.key == key {
			return true
		}
	}
	return false
}

// value returns an attribute's value without references. It is valid until the next call.
func (m *markup) value(a attr) []byte {
	value := m.source[a.start:a.end]
	if bytes.IndexByte(value, '\r') >= 0 {
		m.scratch = appendLines(m.scratch[:0], value)
		value = m.scratch
	}
	if bytes.IndexByte(value, 0) >= 0 {
		value = bytes.ReplaceAll(value, []byte{0}, []byte("\ufffd"))
	}
	if bytes.IndexByte(value, '&') >= 0 {
		value = unescapeAttribute(value)
	}
	return value
}

// unescapeAttribute is html.UnescapeString for the value of an attribute. There, a name
// without a semicolon is a reference only as a whole, and not before "=".
func unescapeAttribute(value []byte) []byte {
	var out []byte
	for {
		i := bytes.IndexByte(value, '&')
		if i < 0 {
			return append(out, value...)
		}
		out = append(out, value[:i]...)
		value = value[i:]
		end := 1
		if end < len(value) && value[end] == '#' {
			end++
		}
		for end < len(value) && ascii.IsAlphanumeric(value[end]) {
			end++
		}
		isWhole := end < len(value) && value[end] == ';'
		if isWhole {
			end++
		}
		shown := string(value[:end])
		if value[min(1, len(value)-1)] == '#' || isWhole || end == len(value) || value[end] != '=' {
			shown = unescape(shown)
		}
		if !bytes.HasPrefix(value, []byte("&#")) && utf8.RuneCountInString(shown) > 1 && shown[len(shown)-1] == value[end-1] {
			shown = string(value[:end]) // only its beginning is a name, or nothing
		}
		out = append(out, shown...)
		value = value[end:]
	}
}

// shown returns the text of a text token without references. It is valid until the next
// call.
func (m *markup) shown() []byte {
	text := m.text
	if bytes.IndexByte(text, '\r') >= 0 {
		m.scratch = appendLines(m.scratch[:0], text)
		text = m.scratch
	}
	if m.rawElement != "" && bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\ufffd"))
	}
	if (m.rawElement == "" || m.rawElement == "textarea" || m.rawElement == "title") && bytes.IndexByte(text, '&') >= 0 {
		text = []byte(unescape(string(text)))
	}
	return text
}

// unescape is html.UnescapeString, which leaves a number of one digit without a semicolon
// as it is. A zero before the digit prevents that.
func unescape(text string) string {
	if !strings.Contains(text, "&#") {
		return html.UnescapeString(text)
	}
	var padded strings.Builder
	for {
		before, number, isFound := strings.Cut(text, "&#")
		padded.WriteString(before)
		if !isFound {
			return html.UnescapeString(padded.String())
		}
		padded.WriteString("&#")
		if len(number) > 0 && isDigit(number[0]) && (len(number) == 1 || !isDigit(number[1])) {
			padded.WriteByte('0')
		}
		text = number
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendLines appends text with "\n" for each "\r\n" and "\r".
func appendLines(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\r')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i]...), '\n')
		text = bytes.TrimPrefix(text[i+1:], []byte("\n"))
	}
}

// rawText reads the text inside an element of m.raw, if there is any.
func (m *markup) rawText() bool {
	name, from := m.raw, m.pos
	m.raw = ""
	m.pos = m.rawEnd(name)
	if name == "script" && bytes.Contains(m.source[from:m.pos], []byte("<!--")) {
		m.pos = from + scriptLength(m.source[from:])
	}
	m.text, m.rawElement = m.source[from:m.pos], name
	return len(m.text) > 0
}

// rawEnd returns where the end tag of a raw element begins.
func (m *markup) rawEnd(name string) int {
	if name == "plaintext" {
		return len(m.source)
	}
	for at := m.pos; ; {
		i := bytes.Index(m.source[at:], []byte("</"))
		if i < 0 {
			return len(m.source)
		}
		at += i
		if isTagOf(m.source[at+2:], name) {
			return at
		}
		at += 2
	}
}

// isTagOf reports whether text, behind "<" or "</", is a tag of an element.
func isTagOf(text []byte, name string) bool {
	n := len(name)
	return len(text) > n && ascii.HasPrefixFold(text, name) && (ascii.IsSpace(text[n]) || text[n] == '/' || text[n] == '>')
}

// scriptLength returns the length of a script that has comments, in which its end may be
// hidden (HTML Standard, sections 13.2.5.20 to 31).
func scriptLength(script []byte) int {
	escaped, twice := false, false // inside a comment, and in a script element inside it
	for at := 0; at < len(script); at++ {
		switch rest := script[at:]; {
		case !escaped && bytes.HasPrefix(rest, []byte("<!--")):
			escaped = true
			at++ // its dashes may be those that end it
		case escaped && bytes.HasPrefix(rest, []byte("-->")):
			escaped, twice = false, false
		case rest[0] != '<':
		case bytes.HasPrefix(rest, []byte("</")) && isTagOf(rest[2:], "script"):
			if !twice {
				return at
			}
			twice = false
		case escaped && isTagOf(rest[1:], "script"):
			twice = true
		}
	}
	return len(script)
}

// skipTo returns the place behind the next c.
func skipTo(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i + 1
	}
	return len(b)
}
