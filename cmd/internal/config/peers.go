package config

import "fmt"

// checkPeers checks the relations between keys: missing or duplicate names and keys.
func (f *file) checkPeers(tables []table) {
	names, owners := make(map[string]int), make(map[string]int)
	for i, t := range tables {
		p := f.config.Peers[i]
		wrong := func(name, format string, args ...any) {
			f.fault(t.lineOf(name), peerSection+"."+name, fmt.Errorf(format, args...))
		}
		if p.Name == "" && !t.bad["name"] {
			wrong("name", "is missing; allowed: %s", lookup("peer.name").kind.allowed)
		} else if first, ok := names[p.Name]; ok && p.Name != "" {
			wrong("name", "%q is already used on line %d; allowed: one table for each site", p.Name, tables[first].lineOf("name"))
		} else {
			names[p.Name] = i
		}
		if p.Key == "" && !t.bad["key"] && p.Trust != "none" {
			wrong("key", "is missing; allowed: %s, or trust = \"none\"", lookup("peer.key").kind.allowed)
		}
		for _, k := range []struct{ name, value string }{{"key", p.Key}, {"next_key", p.NextKey}} {
			if owner, ok := owners[k.value]; ok && k.value != "" {
				wrong(k.name, "is also a key of %q; allowed: a different key for each site", f.config.Peers[owner].Name)
			}
			owners[k.value] = i
		}
	}
}
