package manual

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Command is a command line in a document.
type Command struct {
	Page    string
	Args    []string // without the program
	IsWhole bool     // stands in a block; one in a sentence may only be a name
}

// Where commands stand: in blocks of code, and in code within a sentence.
var (
	block  = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	inline = regexp.MustCompile("`([^`]+)`")
)

// Commands returns all calls of a program in the documents of a repository, which are its
// files with the ending md.
func Commands(repository fs.FS, program string) (list []Command, err error) {
	// A call begins a command, perhaps with a path or as another user, and ends at what a
	// shell treats as its end, or at a gap before a remark. In other files it begins an entry.
	call := regexp.MustCompile(`(?:^|[(|;&] ?|-- )(?:[\w/.-]+/)?` + program + `((?: [^|&;<>)#{]*)?)(?:$|[|&;<>)#])`)
	entry := regexp.MustCompile(`^` + program + ` (unix - n|\{)`)
	err = fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		blocks, sentences := codeLines(string(text))
		for i, line := range append(blocks, sentences...) {
			for _, m := range call.FindAllStringSubmatch(line, -1) {
				args, _, _ := strings.Cut(m[1], "  ")
				if !entry.MatchString(line) {
					list = append(list, Command{name, split(args), i < len(blocks)})
				}
			}
		}
		return nil
	})
	return list, err
}

// codeLines returns the lines of all blocks, and the code within sentences.
func codeLines(text string) (blocks, sentences []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(m[1], "\\\n", " ")) {
			blocks = append(blocks, strings.TrimSpace(line))
		}
	}
	for _, m := range inline.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		sentences = append(sentences, strings.Join(strings.Fields(m[1]), " "))
	}
	return blocks, sentences
}

var word = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// split splits a command line into words, without the quotes around them.
func split(line string) (words []string) {
	for _, w := range word.FindAllString(line, -1) {
		words = append(words, strings.Trim(w, `"'`))
	}
	return words
}
