package replica

import (
	"hash/fnv"
	"math"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
	"github.com/spambloom/spambloom/signature"
)

// minHashes is the number of minima that the reference keeps; a match is more than half.
const minHashes = 32

// minHash is the method behind most of the peers' figures, applied to the same copies. It
// shows whether a row is as hard as the copies of the peers' figures. It takes the minimum,
// under each of 32 hashes, over all runs of three words (Broder 1997; rspamd does the same,
// and requires more than 16 equal minima).
func minHash(words []string) (minima [minHashes]uint64) {
	for i := range minima {
		minima[i] = math.MaxUint64
	}
	for i := 0; i+3 <= len(words); i++ {
		h := fnv.New64a()
		h.Write([]byte(strings.Join(words[i:i+3], " ")))
		x := h.Sum64()
		for j := range minima {
			x += 0x9e3779b97f4a7c15 // SplitMix64 gives each run its 32 hashes
			minima[j] = min(minima[j], filter.Mix(x))
		}
	}
	return minima
}

// isMinHashMatch reports whether more than half of the minima of two lists are equal.
func isMinHashMatch(original, copied []string) bool {
	if len(original) < 3 || len(copied) < 3 {
		return false
	}
	a, b := minHash(original), minHash(copied)
	equal := 0
	for i := range a {
		if a[i] == b[i] {
			equal++
		}
	}
	return equal > minHashes/2
}

// textOf returns the words of a message.
func textOf(raw []byte) []string { return strings.Fields(signature.Text(signature.Parse(raw))) }

// The least structure of a page that rspamd compares.
const (
	leastTags  = 10
	leastLinks = 2
	leastDepth = 3
)

// structureOf returns the structure of a message's first page as rspamd takes it since 3.14 (off
// by default): each element with its first class, links with their domain. It is nil if the page
// has too little of it.
func structureOf(raw []byte) (list []string) {
	m, err := message.Parse("", raw)
	if err != nil || len(m.Pages()) == 0 {
		return nil
	}
	links, depth, deepest := 0, 0, 0
	for z := html.NewTokenizer(strings.NewReader(m.Pages()[0])); z.Next() != html.ErrorToken; {
		switch t := z.Token(); t.Type {
		case html.EndTagToken:
			depth--
		case html.StartTagToken, html.SelfClosingTagToken:
			if t.Type == html.StartTagToken && !slices.Contains(emptyElements, t.DataAtom) {
				depth++
				deepest = max(deepest, depth)
			}
			name, domain := elementOf(t)
			if domain != "" {
				links++
			}
			list = append(list, name+domain)
		}
	}
	if len(list) < leastTags || links < leastLinks || deepest < leastDepth {
		return nil
	}
	return list
}

// emptyElements are those of HTML without an end tag.
var emptyElements = []atom.Atom{atom.Area, atom.Base, atom.Br, atom.Col, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta}

// elementOf returns an element's name with its first class, and the domain of a link.
func elementOf(t html.Token) (name, domain string) {
	name = t.Data
	for _, a := range t.Attr {
		switch a.Key {
		case "class":
			if classes := strings.Fields(a.Val); len(classes) > 0 {
				name += "." + classes[0]
			}
		case "href":
			if u, err := url.Parse(a.Val); err == nil && t.DataAtom == atom.A && u.Host != "" {
				domain = "@" + u.Hostname()
			}
		}
	}
	return name, domain
}
