package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/BurntSushi/toml"
)

// peerKey is the name under which it is kept where a key of c.Peers[i] stands;
// of "", where its table does.
func peerKey(i int, name string) string { return fmt.Sprintf("%s[%d].%s", peerSection, i, name) }

// peerTable is one [[peer]] while it is checked.
type peerTable struct {
	i     int
	line  int             // of its heading
	lines map[string]int  // of its keys
	bad   map[string]bool // keys whose values were refused
}

// lineOf is where a key stands, or else its table.
func (t peerTable) lineOf(name string) int {
	if line, ok := t.lines[name]; ok {
		return line
	}
	return t.line
}

// peers reads the list of [[peer]] tables.
func (f *file) peers(p toml.Primitive) {
	values, err := f.list(p)
	if err != nil {
		f.visit(peerSection, p, func(any) error { return err })
		return
	}
	headings := f.peerHeadings()
	var tables []peerTable
	for i, keys := range values {
		t := peerTable{i: i, line: f.line(p, &checker{check: func(any) error { return nil }})} // all in one line
		if len(headings) == len(values) {
			t.line = headings[i]
		}
		f.peer(&t, keys)
		tables = append(tables, t)
	}
	f.checkPeers(tables)
}

var errNoList = errors.New("is a list of tables: write [[peer]] on a line of its own, once for each site, and its keys below")

// list takes a list of tables apart.
func (f *file) list(p toml.Primitive) (list []map[string]toml.Primitive, err error) {
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

var (
	peerHeading = regexp.MustCompile(`^\s*\[\[\s*["']?` + peerSection + `["']?\s*\]\]`)
	anyHeading  = regexp.MustCompile(`^\s*\[`)
	anyKey      = regexp.MustCompile(`^\s*["']?(\w+)["']?\s*=`)
)

// peerHeadings are the lines of all [[peer]]. The decoder knows one line for each
// name, which in a list of tables is that of the last.
func (f *file) peerHeadings() (lines []int) {
	for i, text := range f.input {
		if peerHeading.MatchString(text) {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// keysBelow are the lines of the keys of the table whose heading is on that line.
func (f *file) keysBelow(heading int) map[string]int {
	lines := make(map[string]int)
	for i := heading; i < len(f.input) && !anyHeading.MatchString(f.input[i]); i++ {
		if key := anyKey.FindStringSubmatch(f.input[i]); key != nil {
			lines[key[1]] = i + 1
		}
	}
	return lines
}

// peer reads one table.
func (f *file) peer(t *peerTable, values map[string]toml.Primitive) {
	f.config.Peers = append(f.config.Peers, Peer{})
	for _, k := range keys {
		if k.section == peerSection {
			k.setDefault(f.config)
		}
	}
	below := f.keysBelow(t.line)
	t.lines, t.bad = make(map[string]int), make(map[string]bool)
	f.config.where[peerKey(t.i, "")] = fmt.Sprintf("%s:%d: %s", f.path, t.line, peerSection)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t.lines[name] = t.line
		if line, ok := below[name]; ok {
			t.lines[name] = line
		}
		c := &checker{check: f.setter(peerSection, name)}
		_ = f.md.PrimitiveDecode(values[name], c) // always fails; c has the reason
		path := peerSection + "." + name
		f.fault(t.lines[name], path, c.err)
		t.bad[name] = c.err != nil
		f.config.where[peerKey(t.i, name)] = fmt.Sprintf("%s:%d: %s", f.path, t.lines[name], path)
	}
}

// checkPeers finds what is wrong between keys: names and keys that are missing, or
// there twice.
func (f *file) checkPeers(tables []peerTable) {
	names, owners := make(map[string]int), make(map[string]int)
	for i, t := range tables {
		p := f.config.Peers[i]
		wrong := func(name, format string, args ...any) {
			f.fault(t.lineOf(name), peerSection+"."+name, fmt.Errorf(format, args...))
		}
		if p.Name == "" && !t.bad["name"] {
			wrong("name", "is missing; allowed: %s", lookup("peer.name").kind.allowed)
		} else if first, ok := names[p.Name]; ok && p.Name != "" {
			wrong("name", "%q is named before, on line %d; allowed: one table for each site", p.Name, tables[first].lineOf("name"))
		} else {
			names[p.Name] = i
		}
		if p.Key == "" && !t.bad["key"] && p.Trust != "none" {
			wrong("key", "is missing; allowed: %s, or trust = \"none\"", lookup("peer.key").kind.allowed)
		}
		for _, k := range []struct{ name, value string }{{"key", p.Key}, {"next_key", p.NextKey}} {
			if owner, ok := owners[k.value]; ok && k.value != "" {
				wrong(k.name, "is a key of %q, too; allowed: a key of the site's own", f.config.Peers[owner].Name)
			}
			owners[k.value] = i
		}
	}
}
