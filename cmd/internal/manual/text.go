package manual

import (
	"fmt"
	"regexp"
	"strings"
)

// section is a part of a page, and what stands in it.
type section struct {
	title  string
	blocks []block
}

// block is a paragraph, or a term of a list with its text.
type block struct {
	term string // empty: a paragraph
	text string
}

var (
	// opening is the line that opens a section.
	opening = regexp.MustCompile(`^([A-Z][a-z]+( [a-z]+)?):$`)
	// item is the first line of a term of a list, goesOn a further one.
	item   = regexp.MustCompile(`^ {0,2}(\S+(?: \S+)*) {2,}(\S.*)$`)
	goesOn = regexp.MustCompile(`^ {3,}(\S.*)$`)
)

// titles are the sections' names as man pages have them, where those differ.
var titles = map[string]string{"Exit codes": "EXIT STATUS"}

// split takes a Long text apart. The first section is the description.
func split(long string) []section {
	sections := []section{{}}
	fresh := true // the next line begins a block
	for _, line := range strings.Split(strings.TrimSpace(long), "\n") {
		now := &sections[len(sections)-1]
		if m := opening.FindStringSubmatch(line); m != nil {
			title := titles[m[1]]
			if title == "" {
				title = strings.ToUpper(m[1])
			}
			sections, fresh = append(sections, section{title: title}), true
			continue
		}
		if strings.TrimSpace(line) == "" {
			fresh = true
			continue
		}
		fresh = now.add(line, fresh)
	}
	return sections
}

// add takes in a line; fresh where it begins a block.
func (s *section) add(line string, fresh bool) bool {
	if m := item.FindStringSubmatch(line); m != nil && !goesOn.MatchString(line) {
		s.blocks = append(s.blocks, block{m[1], m[2]})
		return false
	}
	last := len(s.blocks) - 1
	further := goesOn.FindStringSubmatch(line)
	switch {
	case last >= 0 && !fresh && further != nil && s.blocks[last].term != "":
		s.blocks[last].text += " " + further[1]
	case last >= 0 && !fresh && s.blocks[last].term == "":
		s.blocks[last].text += " " + strings.TrimSpace(line)
	default:
		s.blocks = append(s.blocks, block{text: strings.TrimSpace(line)})
	}
	return false
}

// writer writes man(7).
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) section(title string) { w.line(`.SH "%s"`, escape(title)) }

func (w *writer) blocks(blocks []block) {
	for i, b := range blocks {
		switch {
		case b.term != "":
			w.line(".TP\n\\fB%s\\fR", escape(b.term))
		case i > 0: // the first paragraph begins with its section
			w.line(".PP")
		}
		w.line("%s", escape(b.text))
	}
}

// verbatim writes text as it stands.
func (w *writer) verbatim(text string) {
	w.line(".EX")
	for _, line := range strings.Split(text, "\n") {
		w.line("%s", escape(line))
	}
	w.line(".EE")
}

var escaper = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`)

// escape takes the meaning for man(7) from the characters of text that have one.
func escape(text string) string {
	text = escaper.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
