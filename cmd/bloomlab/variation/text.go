package variation

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// piece is a piece of a text part's source: text that is read, or markup.
type piece struct {
	read   bool
	block  bool   // markup that begins or ends a paragraph
	source string // of text that is read: without entities
}

// blocks are the elements that begin a line of their own.
var blocks = []atom.Atom{atom.P, atom.Div, atom.Br, atom.Tr, atom.Td, atom.Th, atom.Table, atom.Li, atom.Ul, atom.Ol,
	atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Center, atom.Blockquote, atom.Hr, atom.Body, atom.Html,
	atom.Form, atom.Pre, atom.Tbody, atom.Head, atom.Dd, atom.Dt, atom.Dl}

// unread are the elements whose text is not shown.
var unread = []atom.Atom{atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Textarea}

// pieces cuts the source up; all of them joined are the source again, but for
// how entities are written.
func (p *Part) pieces() []piece {
	if p.Type != "text/html" {
		return []piece{{read: true, source: string(p.Body)}}
	}
	var list []piece
	z := html.NewTokenizer(strings.NewReader(string(p.Body)))
	silent := atom.Atom(0)
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return list
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		tag := atom.Lookup(name)
		switch kind {
		case html.TextToken:
			if silent == 0 && strings.TrimSpace(raw) != "" {
				list = append(list, piece{read: true, source: html.UnescapeString(raw)})
				continue
			}
		case html.StartTagToken:
			if slices.Contains(unread, tag) {
				silent = tag
			}
		case html.EndTagToken:
			if tag == silent {
				silent = 0
			}
		}
		list = append(list, piece{source: raw, block: kind != html.TextToken && kind != html.CommentToken && slices.Contains(blocks, tag)})
	}
}

func (p *Part) setPieces(list []piece) {
	var out strings.Builder
	for _, piece := range list {
		if piece.read && p.Type == "text/html" {
			out.WriteString(escapeText(piece.source))
			continue
		}
		out.WriteString(piece.source)
	}
	p.Body = []byte(out.String())
}

// visible is the text without its markup, a paragraph a line.
func (p *Part) visible() string {
	if p.Type != "text/html" {
		return string(p.Body)
	}
	var out strings.Builder
	for _, piece := range p.pieces() {
		switch {
		case piece.read:
			out.WriteString(strings.Join(words(piece.source), " "))
			if r, _ := utf8.DecodeLastRuneInString(piece.source); unicode.IsSpace(r) {
				out.WriteByte(' ')
			}
		case piece.block:
			out.WriteByte('\n')
		case strings.TrimSpace(piece.source) == "":
			out.WriteByte(' ')
		}
	}
	return strings.TrimSpace(emptyLines.ReplaceAllString(out.String(), "\n\n"))
}

var emptyLines = regexp.MustCompile(`\n\s*\n+`)

func words(text string) []string { return strings.Fields(text) }

var wordPattern = regexp.MustCompile(`\S+`)

// isLink reports whether a word is a link or an address, which word variations keep.
func isLink(word string) bool {
	return strings.Contains(word, "://") || strings.Contains(word, "@") || strings.HasPrefix(strings.ToLower(word), "www.")
}

// editRead changes the text that is read, piece by piece.
func (m *Mail) editRead(edit func(text string) string) bool {
	changed := false
	for _, p := range m.texts() {
		list := p.pieces()
		for i := range list {
			if list[i].read {
				next := edit(list[i].source)
				changed = changed || next != list[i].source
				list[i].source = next
			}
		}
		p.setPieces(list)
	}
	return changed
}

// editWords changes word by word; links and addresses stay.
func (m *Mail) editWords(edit func(word string) string) bool {
	return m.editRead(func(text string) string {
		return wordPattern.ReplaceAllStringFunc(text, func(word string) string {
			if isLink(word) {
				return word
			}
			return edit(word)
		})
	})
}

// editLetters changes rune by rune.
func (m *Mail) editLetters(edit func(r rune) string) bool {
	return m.editWords(func(word string) string {
		var out strings.Builder
		for _, r := range word {
			out.WriteString(edit(r))
		}
		return out.String()
	})
}

// maxSentence is the number of words after which a sentence without an end is
// taken to be two.
const maxSentence = 16

// sentences cuts text at its full stops, empty lines and every maxSentence words.
// Joined they are the text again.
func sentences(text string) []string {
	var list []string
	begin, count := 0, 0
	for _, at := range wordPattern.FindAllStringIndex(text, -1) {
		count++
		last := text[at[1]-1]
		if last != '.' && last != '!' && last != '?' && !beginsEmptyLine(text[at[1]:]) && count < maxSentence {
			continue
		}
		list = append(list, text[begin:at[1]])
		begin, count = at[1], 0
	}
	if begin < len(text) {
		list = append(list, text[begin:])
	}
	return list
}

// beginsEmptyLine reports whether text begins with an empty line, blanks apart.
func beginsEmptyLine(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "\n")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " "), "\n")
}

// editSentences changes all sentences of a part at once. Each keeps the blanks
// before it.
func (m *Mail) editSentences(edit func(list []string) []string) bool {
	changed := false
	for _, p := range m.texts() {
		list := p.pieces()
		var blanks, texts []string
		var piecesOf []int
		for i, piece := range list {
			if !piece.read {
				continue
			}
			for _, s := range sentences(piece.source) {
				body := strings.TrimLeftFunc(s, unicode.IsSpace)
				blanks, texts, piecesOf = append(blanks, s[:len(s)-len(body)]), append(texts, body), append(piecesOf, i)
			}
			list[i].source = ""
		}
		next := edit(slices.Clone(texts))
		changed = changed || !slices.Equal(next, texts)
		for k, s := range next {
			list[piecesOf[k]].source += blanks[k] + s
		}
		p.setPieces(list)
	}
	return changed
}

// paragraphs cuts a part's source into paragraphs and the markup between them.
func (p *Part) paragraphs() (list []string, isText []bool) {
	if p.Type != "text/html" {
		separator := "\n\n"
		if strings.Count(string(p.Body), separator) < 2 {
			separator = "\n"
		}
		for i, s := range strings.Split(string(p.Body), separator) {
			if i > 0 {
				list, isText = append(list, separator), append(isText, false)
			}
			list, isText = append(list, s), append(isText, strings.TrimSpace(s) != "")
		}
		return list, isText
	}
	open := false
	for _, piece := range p.pieces() {
		source := piece.source
		if piece.read {
			source = escapeText(source)
		}
		if piece.block || !open {
			list, isText, open = append(list, source), append(isText, piece.read), !piece.block
			continue
		}
		list[len(list)-1] += source
		isText[len(isText)-1] = isText[len(isText)-1] || piece.read
	}
	return list, isText
}

var (
	bodyEnd   = regexp.MustCompile(`(?i)</body|</html`)
	bodyBegin = regexp.MustCompile(`(?i)<body[^>]*>`)
)

// append adds paragraphs at the end of the part; markup is what they are in HTML.
func (p *Part) append(plain, markup string) {
	if p.Type != "text/html" {
		p.Body = []byte(strings.TrimRight(string(p.Body), "\n") + "\n\n" + plain + "\n")
		return
	}
	at := len(p.Body)
	if loc := bodyEnd.FindIndex(p.Body); loc != nil {
		at = loc[0]
	}
	p.Body = slices.Insert(p.Body, at, []byte("\n"+markup+"\n")...)
}

// prepend adds paragraphs at the beginning of the part.
func (p *Part) prepend(plain, markup string) {
	if p.Type != "text/html" {
		p.Body = []byte(plain + "\n\n" + string(p.Body))
		return
	}
	at := 0
	if loc := bodyBegin.FindIndex(p.Body); loc != nil {
		at = loc[1]
	}
	p.Body = slices.Insert(p.Body, at, []byte(markup+"\n")...)
}

// paragraph is text as an HTML paragraph.
func paragraph(text string) string {
	return "<p>" + strings.ReplaceAll(escapeText(text), "\n", "<br>\n") + "</p>"
}
