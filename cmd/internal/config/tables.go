package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/BurntSushi/toml"
)

// This file handles sections that are lists of tables: [[peer]], [[policy]], [[allow]],
// [[trap]].

// lists contains functions that add an empty table to the configuration, by section.
var lists = map[string]func(*Config){
	peerSection:   func(c *Config) { c.Peers = append(c.Peers, Peer{}) },
	policySection: func(c *Config) { c.Policies = append(c.Policies, Policy{}) },
	allowSection:  func(c *Config) { c.Allow = append(c.Allow, Allow{}) },
	trapSection:   func(c *Config) { c.Traps = append(c.Traps, Trap{}) },
}

// isList reports whether a section may occur several times.
func isList(section string) bool { return lists[section] != nil }

// tableKey returns the key in Config.where for a key of table i of a section, or for the
// table if name is "".
func tableKey(section string, i int, name string) string {
	return fmt.Sprintf("%s[%d].%s", section, i, name)
}

// table is one table of a list being checked.
type table struct {
	section string
	i       int
	line    int             // of its heading
	lines   map[string]int  // of its keys
	bad     map[string]bool // keys with rejected values
}

// lineOf returns the line of a key, or of its table if the key is not set.
func (t table) lineOf(name string) int {
	if line, ok := t.lines[name]; ok {
		return line
	}
	return t.line
}

// tables reads a list of tables.
func (f *file) tables(section string, p toml.Primitive) {
	values, err := f.list(section, p)
	if err != nil {
		f.visit(section, p, func(any) error { return err })
		return
	}
	headings := f.tableHeadings(section)
	for i, keys := range values {
		t := table{section: section, i: i, line: f.line(p, &checker{check: func(any) error { return nil }})} // written in one line
		if len(headings) == len(values) {
			t.line = headings[i]
		}
		f.table(&t, keys)
		f.lists[section] = append(f.lists[section], t)
	}
}

// list splits a list of tables.
func (f *file) list(section string, p toml.Primitive) (list []map[string]toml.Primitive, err error) {
	errNoList := fmt.Errorf("is a list of tables: write [[%s]] on a line of its own, once for each %s, followed by its keys", section, what[section])
	c := &checker{check: func(v any) error {
		switch v := v.(type) {
		case []map[string]any:
			return nil
		case []any: // written in one line
			for _, one := range v {
				if _, ok := one.(map[string]any); !ok {
					return errNoList
				}
			}
			return nil
		}
		return errNoList
	}}
	_ = f.md.PrimitiveDecode(p, c) // always fails; c has the reason
	if c.err != nil {
		return nil, c.err
	}
	return list, f.md.PrimitiveDecode(p, &list)
}

// what maps a section to the subject of its tables.
var what = map[string]string{peerSection: "site", policySection: "group", allowSection: "rule", trapSection: "Maildir"}

var (
	anyHeading = regexp.MustCompile(`^\s*\[`)
	anyKey     = regexp.MustCompile(`^\s*["']?(\w+)["']?\s*=`)
)

// tableHeadings returns the lines of all headings of a list. The decoder returns only one
// line for each name, which in a list of tables is that of the last.
func (f *file) tableHeadings(section string) (lines []int) {
	heading := regexp.MustCompile(`^\s*\[\[\s*["']?` + section + `["']?\s*\]\]`)
	for i, text := range f.input {
		if heading.MatchString(text) {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// keysBelow returns the lines of the keys in the table with its heading on the given line.
func (f *file) keysBelow(heading int) map[string]int {
	lines := make(map[string]int)
	for i := heading; i < len(f.input) && !anyHeading.MatchString(f.input[i]); i++ {
		if key := anyKey.FindStringSubmatch(f.input[i]); key != nil {
			lines[key[1]] = i + 1
		}
	}
	return lines
}

// table reads one table.
func (f *file) table(t *table, values map[string]toml.Primitive) {
	lists[t.section](f.config)
	for _, k := range keys {
		if k.section == t.section {
			k.setDefault(f.config)
		}
	}
	below := f.keysBelow(t.line)
	t.lines, t.bad = make(map[string]int), make(map[string]bool)
	f.config.where[tableKey(t.section, t.i, "")] = fmt.Sprintf("%s:%d: %s", f.path, t.line, t.section)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.lines[name] = t.line
		if line, ok := below[name]; ok {
			t.lines[name] = line
		}
		c := &checker{check: f.setter(t.section, name)}
		_ = f.md.PrimitiveDecode(values[name], c) // always fails; c has the reason
		path := t.section + "." + name
		f.fault(t.lines[name], path, c.err)
		t.bad[name] = c.err != nil
		f.config.where[tableKey(t.section, t.i, name)] = fmt.Sprintf("%s:%d: %s", f.path, t.lines[name], path)
	}
}
