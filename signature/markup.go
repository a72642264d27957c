package signature

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// markup splits an HTML page into text and tags as html.Tokenizer of golang.org/x/net
// does (HTML Standard, section 13.2.5), with which it agrees to the byte; but it makes
// no copies, and keeps of the attributes only those in known. What is rare it leaves
// to that one.
type markup struct {
	source []byte
	pos    int
	raw    string // the element inside which no tag counts but its end

	text  []byte // of a text token, as it stands in source
	inRaw bool   // it is inside an element where NUL is shown
	refs  bool   // it may have character references
	name  []byte // of a tag, in lower case
	attrs []attr // of a start tag, the first of each name

	scratch []byte
	other   *html.Tokenizer // reads pieces, which fed hands over
	fed     fed
}

// attr is an attribute by its name in lower case, with its place in the page.
type attr struct {
	key        string
	begin      int // of its name
	start, end int // of its value
}

// begin starts with a page, which it does not change.
func (m *markup) begin(source []byte) {
	*m = markup{source: source, name: m.name[:0], attrs: m.attrs[:0], scratch: m.scratch[:0]}
}

// reset empties m, keeping of its buffers what keep returns.
func (m *markup) reset(keep func([]byte) []byte) {
	*m = markup{name: keep(m.name), attrs: m.attrs[:0], scratch: keep(m.scratch)}
}

// next reads the next token: text, a start tag or an end tag; html.ErrorToken at the
// end, or where a tag has none.
func (m *markup) next() html.TokenType {
	if m.raw != "" && m.rawText() {
		return html.TextToken
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
		if isASCIILetter(c) {
			return m.startTag(at)
		}
		if c != '/' {
			m.pos = m.skipDeclaration(at + 1)
		} else if at+2 == len(m.source) {
			m.pos = len(m.source)
			return m.textFrom(from)
		} else if isASCIILetter(m.source[at+2]) {
			return m.endTag(at)
		} else {
			m.pos = skipTo(m.source, at+2, '>')
		}
		from = m.pos
	}
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// textFrom is the text token up to here.
func (m *markup) textFrom(from int) html.TokenType {
	m.text, m.inRaw, m.refs = m.source[from:m.pos], false, true
	if len(m.text) == 0 {
		return html.ErrorToken
	}
	return html.TextToken
}

// skipDeclaration is where a comment, or what else begins with "<!" or "<?", ends; at
// is behind the "<".
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

func (m *markup) endTag(at int) html.TokenType {
	m.attrs = m.attrs[:0]
	if !m.tag(at+2, false) {
		return html.ErrorToken
	}
	return html.EndTagToken
}

func (m *markup) startTag(at int) html.TokenType {
	m.attrs = m.attrs[:0]
	if !m.tag(at+1, true) {
		return html.ErrorToken
	}
	switch string(m.name) {
	case "svg", "math": // the only ones that may close themselves
		return m.feed(m.source[at:m.pos]).Next()
	}
	for _, name := range rawElements {
		if string(m.name) == name {
			m.raw = name
		}
	}
	return html.StartTagToken
}

var rawElements = []string{"iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"}

// tag reads a tag whose name begins at pos. It is not ok where the page ends first.
func (m *markup) tag(pos int, keeps bool) (ok bool) {
	begin, source := pos, m.source
	for pos < len(source) && !isSpace(source[pos]) && source[pos] != '/' && source[pos] != '>' {
		pos++
	}
	m.name = appendLower(m.name[:0], source[begin:pos])
	if bytes.IndexByte(m.name, 0) >= 0 {
		m.name = bytes.ReplaceAll(m.name, []byte{0}, []byte("\ufffd"))
	}
	for {
		if pos = skipSpace(source, pos); pos == len(source) {
			return false
		}
		if source[pos] == '>' {
			m.pos = pos + 1
			return true
		}
		a := attr{begin: pos}
		pos = m.attribute(&a, pos)
		if keeps && a.key != "" && !m.has(a.key) {
			m.attrs = append(m.attrs, a)
		}
	}
}

// attribute reads the attribute at pos, and returns what is behind it.
func (m *markup) attribute(a *attr, pos int) int {
	source := m.source
	for pos < len(source) && !isSpace(source[pos]) && source[pos] != '/' && source[pos] != '>' && (source[pos] != '=' || pos == a.begin) {
		pos++
	}
	a.key = knownAttribute(source[a.begin:pos])
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
	for pos < len(source) && !isSpace(source[pos]) && source[pos] != '>' {
		pos++
	}
	a.end = pos
	return pos
}

func skipSpace(b []byte, pos int) int {
	for pos < len(b) && isSpace(b[pos]) {
		pos++
	}
	return pos
}

// knownAttribute is the name of an attribute that a page looks at, else "".
func knownAttribute(b []byte) string {
	var buf [10]byte
	if len(b) > len(buf) {
		return ""
	}
	switch string(appendLower(buf[:0], b)) {
	case "hidden":
		return "hidden"
	case "style":
		return "style"
	case "class":
		return "class"
	case "id":
		return "id"
	case "type":
		return "type"
	case "cite":
		return "cite"
	case "bgcolor":
		return "bgcolor"
	case "background":
		return "background"
	case "color":
		return "color"
	case "dir":
		return "dir"
	case "text":
		return "text"
	case "href":
		return "href"
	}
	return ""
}

func (m *markup) has(key string) bool {
	for _, a := range m.attrs {
		if a.key == key {
			return true
		}
	}
	return false
}

// value is an attribute's value without references. It is gone with the next one.
func (m *markup) value(a attr) []byte {
	value := m.source[a.start:a.end]
	if !bytes.ContainsAny(value, "\x00\r&") {
		return value
	}
	end := a.end
	if c := m.source[a.start-1]; end < len(m.source) && (c == '"' || c == '\'') && m.source[end] == c {
		end++
	}
	m.scratch = append(append(append(m.scratch[:0], "<a "...), m.source[a.begin:end]...), '>')
	other := m.feed(m.scratch)
	other.Next()
	_, value, _ = other.TagAttr()
	return value
}

// shown is the text of a text token without references. It is gone with the next one.
func (m *markup) shown() []byte {
	text := m.text
	if bytes.IndexByte(text, '\r') >= 0 {
		m.scratch = appendLines(m.scratch[:0], text)
		text = m.scratch
	}
	if m.inRaw && bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\ufffd"))
	}
	if m.refs && bytes.IndexByte(text, '&') >= 0 {
		text = []byte(html.UnescapeString(string(text)))
	}
	return text
}

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

// fed hands over pieces of a page, each a whole tag.
type fed struct{ piece []byte }

func (f *fed) Read(p []byte) (int, error) {
	n := copy(p, f.piece)
	if f.piece = f.piece[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// feed hands a whole tag to the other tokenizer.
func (m *markup) feed(tag []byte) *html.Tokenizer {
	if m.other == nil {
		m.other = html.NewTokenizer(&m.fed)
	}
	m.fed.piece = tag
	return m.other
}

// rawText reads the text inside an element of m.raw, if there is any.
func (m *markup) rawText() bool {
	name, from := m.raw, m.pos
	m.raw = ""
	m.pos = m.rawEnd(name)
	if name == "script" && bytes.Contains(m.source[from:m.pos], []byte("<!--")) {
		m.pos = from + scriptLength(m.source[from:])
	}
	m.text, m.inRaw = m.source[from:m.pos], true
	m.refs = name == "textarea" || name == "title"
	return len(m.text) > 0
}

// rawEnd is where the end tag of a raw element begins.
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
		rest := m.source[at+2:]
		if len(rest) > len(name) && foldsTo(rest[:len(name)], name) && (isSpace(rest[len(name)]) || rest[len(name)] == '/' || rest[len(name)] == '>') {
			return at
		}
		at += 2
	}
}

// scriptLength is the length of a script that has comments, in which its end may be
// hidden.
func scriptLength(script []byte) int {
	z := html.NewTokenizer(io.MultiReader(strings.NewReader("<script>"), bytes.NewReader(script)))
	z.Next()
	z.Next()
	return len(z.Raw())
}
