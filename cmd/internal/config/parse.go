package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// parse reads the text of a file. Path is used only in errors.
func parse(path, input string) (*Config, error) {
	var top map[string]toml.Primitive
	md, err := toml.Decode(input, &top)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		line := ""
		if lines := strings.Split(input, "\n"); syntax.Position.Line > 0 && syntax.Position.Line <= len(lines) {
			line = lines[syntax.Position.Line-1]
		}
		return nil, fmt.Errorf("%s:%d: %s", path, syntax.Position.Line, withoutSecret(syntax.Message, line))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &file{path: path, input: strings.Split(input, "\n"), md: md, config: Default(), lists: make(map[string][]table), lines: make(map[string]int)}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if isList(name) {
			f.tables(name, top[name])
			continue
		}
		f.section(name, top[name])
	}
	f.checkPeers(f.lists[peerSection])
	f.checkPolicies(f.lists[policySection])
	f.checkAllow(f.lists[allowSection])
	f.checkTraps(f.lists[trapSection])
	f.checkMinimums()
	f.checkGreylist()
	f.checkClasses(f.lists[policySection])
	return f.config, f.err()
}

// file is a file being checked.
type file struct {
	path   string
	input  []string // lines
	md     toml.MetaData
	config *Config
	lists  map[string][]table // by section
	lines  map[string]int     // of keys outside of lists
	faults []fault
}

type fault struct {
	line int
	text string
}

// err joins the errors in the order of the file.
func (f *file) err() error {
	slices.SortStableFunc(f.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, x := range f.faults {
		errs = append(errs, errors.New(x.text))
	}
	return errors.Join(errs...)
}

func (f *file) section(name string, p toml.Primitive) {
	f.visit(name, p, func(v any) error {
		_, table := v.(map[string]any)
		known := slices.Contains(sectionNames(), name)
		switch {
		case !known && !table:
			return fmt.Errorf("key outside of a section; allowed: below one of %s", strings.Join(headings(), ", "))
		case !known:
			return unknown("section", name, sectionNames())
		case !table:
			return fmt.Errorf("is a section: write [%s] on a line of its own, followed by its keys", name)
		}
		return nil
	})
	if !slices.Contains(sectionNames(), name) {
		return
	}
	var values map[string]toml.Primitive
	if f.md.PrimitiveDecode(p, &values) != nil {
		return // not a table: reported above
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		f.key(name, k, values[k])
	}
}

func (f *file) key(section, name string, p toml.Primitive) {
	path := section + "." + name
	line := f.visit(path, p, f.setter(section, name))
	f.lines[path] = line
	f.config.where[path] = fmt.Sprintf("%s:%d: %s", f.path, line, path)
}

// setter returns a function that sets a key, if the key exists.
func (f *file) setter(section, name string) func(any) error {
	return func(v any) error {
		if !slices.Contains(keyNames(section), name) {
			return unknown("key", name, keyNames(section))
		}
		return lookup(section+"."+name).kind.set(f.config, v)
	}
}

// visit passes the value of p to check, and records its error with the key's line.
func (f *file) visit(path string, p toml.Primitive, check func(any) error) (line int) {
	c := &checker{check: check}
	line = f.line(p, c)
	f.fault(line, path, c.err)
	return line
}

// fault records an error, unless it is nil.
func (f *file) fault(line int, path string, err error) {
	if err != nil {
		f.faults = append(f.faults, fault{line, fmt.Sprintf("%s:%d: %s: %v", f.path, line, path, err)})
	}
}

// line returns the line of p, found by c. The line of a table that exists only through
// dotted keys is that of the first of them.
func (f *file) line(p toml.Primitive, c *checker) int {
	var pos toml.ParseError
	if errors.As(f.md.PrimitiveDecode(p, c), &pos) && pos.Position.Line > 0 {
		return pos.Position.Line
	}
	var within map[string]toml.Primitive
	if f.md.PrimitiveDecode(p, &within) != nil {
		return 0
	}
	first := 0
	for _, q := range within {
		if n := f.line(q, &checker{check: func(any) error { return nil }}); first == 0 || n > 0 && n < first {
			first = n
		}
	}
	return first
}

// checker receives one value. It always fails, because the decoder reports a value's line
// only in errors.
type checker struct {
	check func(any) error
	err   error
}

var errPosition = errors.New("position wanted")

func (c *checker) UnmarshalTOML(v any) error {
	c.err = c.check(v)
	return errPosition
}

func sectionNames() []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// headings returns the headings of the sections.
func headings() []string {
	var list []string
	for _, name := range sectionNames() {
		list = append(list, strings.TrimPrefix(heading(name), "#"))
	}
	return list
}

func keyNames(section string) []string {
	var names []string
	for _, k := range keys {
		if k.section == section {
			names = append(names, k.name)
		}
	}
	return names
}

func unknown(what, name string, allowed []string) error {
	hint := ""
	if best := nearest(name, allowed); best != "" {
		hint = fmt.Sprintf("; did you mean %q?", best)
	}
	return fmt.Errorf("unknown %s%s; allowed: %s", what, hint, strings.Join(allowed, ", "))
}

// nearest returns the name that differs least from s, or "" if none is similar.
func nearest(s string, names []string) string {
	best, least := "", max(2, len(s)/3)+1
	for _, n := range names {
		if d := distance(s, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance returns the Levenshtein distance. A key as long as a file must not take long.
// Names are short, so the first bytes suffice.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
