//go:build figures

package replay

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// A seed for new sites would be a Bloom filter of public hashes, because the hashes of a site's sets
// are keyed. It has seedBytes, and an error of seedError.
const (
	seedBytes = 100_000
	seedError = 0.01
)

// TestSeedFigures prints the table about seeds of contrib/benchmarks.md: what a filter of 100 kB of
// what is common in the ham of some archives changes for another archive.
func TestSeedFigures(t *testing.T) {
	archives := make(map[string][]Message)
	var spam []Message
	for _, name := range archiveNames {
		archives[name] = readArchive(t, name)
		spam = append(spam, labelled(archives[name], true)...)
	}
	sources := archiveNames[:3] // the last one has no ham
	hamBut := func(name string) (ham []Message) {
		for _, other := range sources {
			if other != name {
				ham = append(ham, labelled(archives[other], false)...)
			}
		}
		return ham
	}
	t.Logf("| archive | seed of | spam caught, of | ham hit, of |\n")
	for _, name := range archiveNames {
		measure(t, name+" | none", archives[name], Options{})
		measure(t, name+" | all others", archives[name], Options{Learn: seed(t, hamBut(name))})
		for _, other := range sources {
			if other != name {
				measure(t, name+" | "+other, archives[name], Options{Learn: seed(t, labelled(archives[other], false))})
			}
		}
	}
	t.Logf("| ham of, after all spam | seed of | spam caught, of | ham hit, of |\n")
	for _, name := range sources {
		all := slices.Concat(spam, labelled(archives[name], false))
		measure(t, name+" | all others", all, Options{Learn: seed(t, hamBut(name))})
	}
	t.Logf("| every second ham of, reported as spam | seed of | ham of other senders hit, of |\n")
	for _, name := range sources {
		every := slices.Clone(labelled(archives[name], false))
		for i := range every {
			every[i].Spam = i%2 == 0
		}
		framed(t, name+" | none", every, Options{})
		framed(t, name+" | all others", every, Options{Learn: seed(t, hamBut(name))})
	}
}

// seen is where a feature occurs.
type seen struct {
	senders map[string]bool
	days    map[int64]bool
}

func (s *seen) isCommon() bool { return len(s.senders) >= 3 && len(s.days) >= 3 }

// observe returns where the features of mail occur: texts' runs of words and link domains, by their
// public hashes.
func observe(ham []Message) (runs map[uint64]*seen, domains map[string]*seen) {
	runs, domains = make(map[uint64]*seen), make(map[string]*seen)
	for _, m := range ham {
		if m.From == "" {
			continue
		}
		day := m.Time.Unix() / 86400
		for _, s := range m.Set.Sketches {
			if s.Kind != signature.KindSketch {
				continue
			}
			for _, k := range s.Keys {
				add(runs, k.Hash, m.From, day)
			}
		}
		for _, d := range m.Set.Domains {
			add(domains, d, m.From, day)
		}
	}
	return runs, domains
}

func add[K comparable](to map[K]*seen, key K, sender string, day int64) {
	s := to[key]
	if s == nil {
		s = &seen{make(map[string]bool), make(map[int64]bool)}
		to[key] = s
	}
	s.senders[sender], s.days[day] = true, true
}

// most returns the n common features of the most senders.
func most[K cmp.Ordered](of map[K]*seen, n int) []K {
	maps.DeleteFunc(of, func(_ K, s *seen) bool { return !s.isCommon() })
	list := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		return cmp.Or(cmp.Compare(len(of[b].senders), len(of[a].senders)), cmp.Compare(a, b))
	})
	return list[:min(n, len(list))]
}

// seed returns mail that makes the features of a seed common: as if eight senders had sent each on
// eight days. The filter's own errors are not simulated; they would only lose catches.
func seed(t *testing.T, ham []Message) (mail []Message) {
	room := int(-seedBytes * 8 * math.Ln2 * math.Ln2 / math.Log(seedError))
	runs, domains := observe(ham)
	allDomains := most(domains, room)
	common := most(runs, math.MaxInt)
	listed := common[:min(len(common), room-len(allDomains))]
	t.Logf("    seed of %d ham: %d of %d common runs, %d domains, room for %d", len(ham), len(listed), len(common), len(allDomains), room)
	var sets []signature.Set
	for part := range slices.Chunk(listed, 100) {
		s := signature.Sketch{Kind: signature.KindSketch}
		for i, h := range part {
			s.Keys = append(s.Keys, signature.Feature{Hash: h, Pos: uint32(i)})
		}
		sets = append(sets, signature.Set{Sketches: []signature.Sketch{s}})
	}
	for part := range slices.Chunk(allDomains, 4) {
		sets = append(sets, signature.Set{Domains: part})
	}
	for n := range 8 {
		for i, set := range sets {
			from := fmt.Sprintf("seed%d-%d.example", n, i%4) // no sender uses up its share of a set
			mail = append(mail, Message{Time: time.Unix(86400*int64(n+1), 0), From: from, Set: set})
		}
	}
	return mail
}
