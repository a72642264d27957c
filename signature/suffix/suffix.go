// Package suffix knows which names of the DNS have sites of different owners below
// them: the public suffixes, such as com, co.uk and github.io. It owns a dated copy
// of the Public Suffix List (publicsuffix.org), the table made from it, and the
// lookup. Both sections of the list count, as the users of a hosting service are
// strangers to each other like the owners of two domains.
package suffix

import (
	_ "embed"
	"strings"
	"sync"
)

// Dated is the day of the list's copy.
const Dated = "2023-02-09"

//go:generate go test -run ^TestTable$ -update .

// table is the list, one rule a line, sorted by name: the name in its ASCII form,
// then a blank and a sign where the rule is not plain.
//
//go:embed rules.txt
var table string

// The signs behind a name. A name that has a wildcard rule and a plain one has both.
const (
	wildcard  = '*' // each name directly below is a suffix
	exception = '!' // the name is none, though a wildcard rule says so
	plainToo  = '+' // beside a wildcard rule
)

// rule is what the list says of one name.
type rule struct{ plain, wildcard, exception bool }

// Registrable returns the part of a host name that its owner registered: one label
// more than its public suffix. It is "" where host is a public suffix itself. host
// is lower case, in ASCII form (RFC 5890 section 2.3.2.1), without a dot at its end.
// A top level domain that the list does not have is a suffix, as the list's
// algorithm says (its rule "*").
func Registrable(host string) string {
	end := cut(host)
	if end == 0 {
		return ""
	}
	return host[strings.LastIndexByte(host[:end-1], '.')+1:]
}

// Known says whether the list has a host's top level domain.
func Known(host string) bool {
	r := find(host[strings.LastIndexByte(host, '.')+1:])
	return r.plain || r.wildcard
}

// cut is where the public suffix of host begins: the longest rule that fits, or the
// exception, which wins with one label less.
func cut(host string) int {
	begin := strings.LastIndexByte(host, '.') + 1
	below := len(host) // where the name one label shorter begins
	for at := begin; ; {
		r := find(host[at:])
		switch {
		case r.exception:
			return below
		case r.plain:
			begin = min(begin, at)
		}
		if at == 0 {
			return begin
		}
		next := strings.LastIndexByte(host[:at-1], '.') + 1
		if r.wildcard {
			begin = min(begin, next)
		}
		below, at = at, next
	}
}

// find looks a name up.
func find(name string) (r rule) {
	index := indexed()
	for slot := hash(name) & (slots - 1); index[slot] != 0; slot = (slot + 1) & (slots - 1) {
		line, _, _ := strings.Cut(table[index[slot]-1:], "\n")
		if rest, ok := strings.CutPrefix(line, name); ok && (rest == "" || rest[0] == ' ') {
			return rule{
				plain:     rest == "" || strings.IndexByte(rest, plainToo) >= 0,
				wildcard:  strings.IndexByte(rest, wildcard) >= 0,
				exception: strings.IndexByte(rest, exception) >= 0,
			}
		}
	}
	return r
}

// slots is the number of places in the index: a power of two above the rules of the
// list, which come to half of it.
const slots = 1 << 15

// indexed finds the lines of the table by a hash of the name: their begin, from 1 on,
// with open addressing; 0 is no line. It is made when it is first needed.
var indexed = sync.OnceValue(func() *[slots]uint32 {
	index := new([slots]uint32)
	at := 0
	for line := range strings.Lines(table) {
		name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		slot := hash(name) & (slots - 1)
		for index[slot] != 0 {
			slot = (slot + 1) & (slots - 1)
		}
		index[slot] = uint32(at + 1)
		at += len(line)
	}
	return index
})

// hash is FNV-1a in 32 bits. The names of a mail cannot make it slow: the table has
// none of them.
func hash(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h ^ h>>15
}
