package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Page is one man page.
type Page struct {
	Name string // file name, such as spambloom-report.1
	Text []byte
}

// Pages returns the pages of a command and of all commands below it, in a section of the
// manual. It changes their Long texts. Also lists pages of other commands, as
// name(section), for SEE ALSO of the first page.
func Pages(root *cobra.Command, section string, also ...string) ([]Page, error) {
	root.DisableAutoGenTag = true // it contains a date
	root.InitDefaultCompletionCmd()
	pages, err := tree(root, section)
	if err != nil {
		return nil, err
	}
	first := &pages[0]
	between := ".SH SEE ALSO\n" // cobra adds it only for subcommands
	if root.HasAvailableSubCommands() {
		first.Text, between = bytes.TrimSpace(first.Text), ",\n"
	}
	for _, name := range also {
		first.Text = fmt.Appendf(first.Text, "%s\\fB%s\\fP\n", between, name)
		between = ",\n"
	}
	return pages, nil
}

// tree returns the pages of a command and its subcommands.
func tree(cmd *cobra.Command, section string) ([]Page, error) {
	cmd.Long = markdown(cmd.Long)
	var page bytes.Buffer
	header := doc.GenManHeader{Section: section, Source: cmd.Root().Name(), Date: &time.Time{}}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return nil, fmt.Errorf("man page of %s: %w", cmd.CommandPath(), err)
	}
	pages := []Page{{strings.ReplaceAll(cmd.CommandPath(), " ", "-") + "." + section, []byte(mend(page.String()))}}
	for _, below := range cmd.Commands() {
		if !below.IsAvailableCommand() {
			continue
		}
		more, err := tree(below, section)
		if err != nil {
			return nil, err
		}
		pages = append(pages, more...)
	}
	return pages, nil
}

var (
	// option is a flag with cobra's text for its default, before the flag's description.
	option = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*?)(?:=""|=\[\]|=0s?|\[=false\])?\n\t`)
	// blank is a meaningless empty line before a request.
	blank = regexp.MustCompile(`\n{2,}\.`)
	// literal keeps characters that troff replaces, so that examples can be copied.
	literal = strings.NewReplacer(`\fB--`, `\fB\-\-`, `\fB-`, `\fB\-`, "--", `\-\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`)
)

// mend removes the date from a page, prevents hyphenation, and formats options as a list.
func mend(page string) string {
	page = strings.Replace(page, `"Jan 0001"`, `""`, 1)
	page = strings.Replace(page, ".SH NAME", ".nh\n.ad l\n.SH NAME", 1)
	page = option.ReplaceAllString(page, ".TP\n$1\n")
	return inOrder(literal.Replace(blank.ReplaceAllString(page, "\n.")))
}

// inOrder moves the section on exit codes, which cobra has no place for, behind the options:
// man-pages(7).
func inOrder(page string) string {
	const section, exit = ".SH ", "EXIT STATUS\n"
	var ordered, status []string
	for _, text := range strings.SplitAfter(page, "\n"+section) {
		name := strings.TrimSuffix(text, section)
		if strings.HasPrefix(name, exit) {
			status = []string{name}
			continue
		}
		if strings.HasPrefix(name, "EXAMPLE\n") || strings.HasPrefix(name, "SEE ALSO\n") {
			ordered, status = append(ordered, status...), nil
		}
		ordered = append(ordered, name)
	}
	return strings.Join(append(ordered, status...), section)
}

var (
	// opening is the first line of a section.
	opening = regexp.MustCompile(`^([A-Z][a-z]+( [a-z]+)?):$`)
	// item is the first line of a list entry; lines with deeper indentation continue it.
	item = regexp.MustCompile(`^ {0,2}(\S+(?: \S+)*) {2,}(\S.*)$`)
	// wide is an exit code as wide as its column in a list.
	wide = regexp.MustCompile(`^  \d{3} `)
	// special are the characters with a meaning in Markdown.
	special = regexp.MustCompile("[\\\\`*_{}\\[\\]()#+.!:|&<>~-]")
)

// titles are the names of sections in man pages where they differ.
var titles = map[string]string{"Exit codes": "EXIT STATUS"}

// markdown returns a Long text in the Markdown for cobra's generator.
func markdown(long string) string {
	var b strings.Builder
	inList := false
	for line := range strings.SplitSeq(long, "\n") {
		line = wide.ReplaceAllString(line, "$0 ")
		text := special.ReplaceAllString(strings.TrimSpace(line), `\$0`)
		if m := opening.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "\n# %s\n\n", cmp.Or(titles[m[1]], strings.ToUpper(m[1])))
			inList = false
		} else if m := item.FindStringSubmatch(text); m != nil && !strings.HasPrefix(line, "   ") {
			fmt.Fprintf(&b, "\n**%s**\n: %s\n", m[1], m[2])
			inList = true
		} else {
			if inList && !strings.HasPrefix(line, "   ") {
				text, inList = "\n"+text, false
			}
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}
