package config

import (
	"fmt"
)

// checkTraps checks the relations between keys: missing or duplicate names and Maildirs.
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
				wrong(name, "%q is already used on line %d; allowed: %s", value, tables[first].lineOf(name), allowed)
			default:
				seen[value] = i
			}
		}
		once("name", trap.Name, names, "a unique name for each trap")
		once("maildir", trap.Maildir, maildirs, "one table for each Maildir")
	}
}
