// Package suffix knows which names of the DNS have sites of different owners below
// them: the public suffixes, such as com, co.uk and github.io. It owns a dated copy
// of the Public Suffix List (publicsuffix.org), the table made from it, and the
// lookup. Both sections of the list count, as the users of a hosting service are
// strangers to each other like the owners of two domains.
package suffix

import (
	_ "embed"
	"strings"
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

// find looks a name up, by halving the table.
func find(name string) (r rule) {
	for low, high := 0, len(table); low < high; {
		begin := strings.LastIndexByte(table[:(low+high)/2], '\n') + 1
		end := begin + strings.IndexByte(table[begin:], '\n')
		line, signs, _ := strings.Cut(table[begin:end], " ")
		switch {
		case line == name:
			return rule{
				plain:     signs == "" || strings.IndexByte(signs, plainToo) >= 0,
				wildcard:  strings.IndexByte(signs, wildcard) >= 0,
				exception: strings.IndexByte(signs, exception) >= 0,
			}
		case line < name:
			low = end + 1
		default:
			high = begin
		}
	}
	return r
}
