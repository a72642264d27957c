package config

import (
	"fmt"
	"path/filepath"
)

// checkTraps finds what is wrong between keys: names and Maildirs that are missing, or
// there twice.
func (f *file) checkTraps(tables []table) {
	names, maildirs := make(map[string]int), make(map[string]int)
	for i, t := range tables {
		trap := f.config.Traps[i]
		wrong := func(name, format string, args ...any) {
			f.fault(t.lineOf(name), trapSection+"."+name, fmt.Errorf(format, args...))
		}
		once := func(name, value string, seen map[string]int, allowed string) {
			first, ok := seen[value]
			switch {
			case t.bad[name]:
			case value == "":
				wrong(name, "is missing; allowed: %s", lookup(trapSection+"."+name).kind.allowed)
			case ok:
				wrong(name, "%q is named before, on line %d; allowed: %s", value, tables[first].lineOf(name), allowed)
			default:
				seen[value] = i
			}
		}
		once("name", trap.Name, names, "a name of its own for each trap")
		once("maildir", trap.Maildir, maildirs, "one table for each Maildir")
	}
}

// folder is a text that is an absolute path, cleaned; empty for none.
func folder(field func(*Config) *string) kind {
	k := text(field, `the path of a folder from the root on, such as "/var/mail/trap"`)
	parse := k.parse
	k.parse = func(c *Config, v any) error {
		if s, ok := v.(string); ok && s != "" {
			if !filepath.IsAbs(s) {
				return wrong(v, "a path from the root on")
			}
			v = filepath.Clean(s)
		}
		return parse(c, v)
	}
	return k
}
