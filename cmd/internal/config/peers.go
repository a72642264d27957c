package config

import "fmt"

// checkPeers finds what is wrong between keys: names and keys that are missing, or
// there twice.
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
