package message

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Piece is a piece of a text part's source: text that is read, or markup.
type Piece struct {
	Read   bool
	block  bool   // markup that begins or ends a paragraph
	Source string // of text that is read: without entities
}

// blocks are the elements that begin a line of their own.
var blocks = []atom.Atom{atom.P, atom.Div, atom.Br, atom.Tr, atom.Td, atom.Th, atom.Table, atom.Li, atom.Ul, atom.Ol,
	atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Center, atom.Blockquote, atom.Hr, atom.Body, atom.Html,
	atom.Form, atom.Pre, atom.Tbody, atom.Head, atom.Dd, atom.Dt, atom.Dl}

// unread are the elements whose text is not shown.
var unread = []atom.Atom{atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Textarea}

// Pieces cuts the source up; all of them joined are the source again, but for
// how entities are written.
func (p *Part) Pieces() []Piece {
	if p.Type != "text/html" {
		return []Piece{{Read: true, Source: string(p.Body)}}
	}
	var list []Piece
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
				list = append(list, Piece{Read: true, Source: html.UnescapeString(raw)})
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
		list = append(list, Piece{Source: raw, block: kind != html.TextToken && kind != html.CommentToken && slices.Contains(blocks, tag)})
	}
}

// SetPieces joins the pieces to the source of the part.
func (p *Part) SetPieces(list []Piece) {
	var out strings.Builder
	for _, piece := range list {
		if piece.Read && p.Type == "text/html" {
			out.WriteString(EscapeText(piece.Source))
			continue
		}
		out.WriteString(piece.Source)
	}
	p.Body = []byte(out.String())
}

// Visible is the text without its markup, a paragraph a line.
func (p *Part) Visible() string {
	if p.Type != "text/html" {
		return string(p.Body)
	}
	var out strings.Builder
	for _, piece := range p.Pieces() {
		switch {
		case piece.Read:
			out.WriteString(strings.Join(WordsOf(piece.Source), " "))
			if r, _ := utf8.DecodeLastRuneInString(piece.Source); unicode.IsSpace(r) {
				out.WriteByte(' ')
			}
		case piece.block:
			out.WriteByte('\n')
		case strings.TrimSpace(piece.Source) == "":
			out.WriteByte(' ')
		}
	}
	return strings.TrimSpace(emptyLines.ReplaceAllString(out.String(), "\n\n"))
}

var emptyLines = regexp.MustCompile(`\n\s*\n+`)

// WordsOf returns the words of a text.
func WordsOf(text string) []string { return strings.Fields(text) }

// WordPattern matches a word.
var WordPattern = regexp.MustCompile(`\S+`)

// IsLink reports whether a word is a link or an address, which word variations keep.
func IsLink(word string) bool {
	return strings.Contains(word, "://") || strings.Contains(word, "@") || strings.HasPrefix(strings.ToLower(word), "www.")
}

// EditRead changes the text that is read, piece by piece.
func (m *Mail) EditRead(edit func(text string) string) bool {
	changed := false
	for _, p := range m.TextParts() {
		list := p.Pieces()
		for i := range list {
			if list[i].Read {
				next := edit(list[i].Source)
				changed = changed || next != list[i].Source
				list[i].Source = next
			}
		}
		p.SetPieces(list)
	}
	return changed
}

// EditWords changes word by word; links and addresses stay.
func (m *Mail) EditWords(edit func(word string) string) bool {
	return m.EditRead(func(text string) string {
		return WordPattern.ReplaceAllStringFunc(text, func(word string) string {
			if IsLink(word) {
				return word
			}
			return edit(word)
		})
	})
}

// EditLetters changes rune by rune.
func (m *Mail) EditLetters(edit func(r rune) string) bool {
	return m.EditWords(func(word string) string {
		var out strings.Builder
		for _, r := range word {
			out.WriteString(edit(r))
		}
		return out.String()
	})
}

// MaxSentence is the number of words after which a sentence without an end is
// taken to be two.
const MaxSentence = 16

// Sentences cuts text at its full stops, empty lines and every MaxSentence words.
// Joined they are the text again.
func Sentences(text string) []string {
	var list []string
	begin, count := 0, 0
	for _, at := range WordPattern.FindAllStringIndex(text, -1) {
		count++
		last := text[at[1]-1]
		if last != '.' && last != '!' && last != '?' && !beginsEmptyLine(text[at[1]:]) && count < MaxSentence {
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

// EditSentences changes all sentences of a part at once. Each keeps the blanks
// before it.
func (m *Mail) EditSentences(edit func(list []string) []string) bool {
	changed := false
	for _, p := range m.TextParts() {
		list := p.Pieces()
		var blanks, texts []string
		var piecesOf []int
		for i, piece := range list {
			if !piece.Read {
				continue
			}
			for _, s := range Sentences(piece.Source) {
				body := strings.TrimLeftFunc(s, unicode.IsSpace)
				blanks, texts, piecesOf = append(blanks, s[:len(s)-len(body)]), append(texts, body), append(piecesOf, i)
			}
			list[i].Source = ""
		}
		next := edit(slices.Clone(texts))
		changed = changed || !slices.Equal(next, texts)
		for k, s := range next {
			list[piecesOf[k]].Source += blanks[k] + s
		}
		p.SetPieces(list)
	}
	return changed
}

// Paragraphs cuts a part's source into paragraphs and the markup between them.
func (p *Part) Paragraphs() (list []string, isText []bool) {
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
	for _, piece := range p.Pieces() {
		source := piece.Source
		if piece.Read {
			source = EscapeText(source)
		}
		if piece.block || !open {
			list, isText, open = append(list, source), append(isText, piece.Read), !piece.block
			continue
		}
		list[len(list)-1] += source
		isText[len(isText)-1] = isText[len(isText)-1] || piece.Read
	}
	return list, isText
}

var (
	bodyEnd   = regexp.MustCompile(`(?i)</body|</html`)
	bodyBegin = regexp.MustCompile(`(?i)<body[^>]*>`)
)

// Append adds paragraphs at the end of the part; markup is what they are in HTML.
func (p *Part) Append(plain, markup string) {
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

// Prepend adds paragraphs at the beginning of the part.
func (p *Part) Prepend(plain, markup string) {
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

// Paragraph is text as an HTML paragraph.
func Paragraph(text string) string {
	return "<p>" + strings.ReplaceAll(EscapeText(text), "\n", "<br>\n") + "</p>"
}
