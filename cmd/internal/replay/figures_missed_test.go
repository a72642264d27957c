//go:build figures

package replay

import (
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

const (
	// fewHam is the number of ham in which a rare word may stand.
	fewHam = 5
	// leastWords is the number of words that two messages have at least in common if their share
	// counts.
	leastWords = 8
)

// rule is a resemblance that might list a message.
type rule struct {
	name string
	is   func(p pair) bool
}

func all(of trait) func(p pair) bool { return func(p pair) bool { return p.same&of == of } }

func oneOf(of trait) func(p pair) bool { return func(p pair) bool { return p.same&of != 0 } }

func wordsFrom(share float64) func(p pair) bool {
	return func(p pair) bool { return p.words >= leastWords && p.ofWords >= share }
}

func runsFrom(least int, share float64) func(p pair) bool {
	return func(p pair) bool { return p.runs >= least && p.ofRuns >= share }
}

func both(a, b func(p pair) bool) func(p pair) bool { return func(p pair) bool { return a(p) && b(p) } }

// classes are those of the nearest earlier spam: the first that any has.
var classes = []rule{
	{"all tags of the page", all(sameStructure)},
	{"an outline of the page", all(sameOutline)},
	{"a path of a link or picture", all(samePath)},
	{"a link domain", all(sameDomain)},
	{"a fifth of its runs of three words", runsFrom(3, 0.2)},
	{"half of all words", wordsFrom(0.5)},
	{"the subject", all(sameSubject)},
	{"the address in From", all(sameSender)},
	{"a tenth of its runs of three words", runsFrom(3, 0.1)},
	{"a third of all words", wordsFrom(0.33)},
	{"nothing of these", func(pair) bool { return true }},
}

// rules are those that are tried.
var rules = []rule{
	{"all tags", all(sameStructure)},
	{"an outline", all(sameOutline)},
	{"an outline, and a link domain", all(sameOutline | sameDomain)},
	{"an outline, and a path", all(sameOutline | samePath)},
	{"an outline, and the subject", all(sameOutline | sameSubject)},
	{"an outline, and 20 % of the words", both(all(sameOutline), wordsFrom(0.2))},
	{"a path", all(samePath)},
	{"a path, and 20 % of the words", both(all(samePath), wordsFrom(0.2))},
	{"a path, and the subject", all(samePath | sameSubject)},
	{"a link domain", all(sameDomain)},
	{"a link domain, and the subject", all(sameDomain | sameSubject)},
	{"a link domain, and 30 % of the words", both(all(sameDomain), wordsFrom(0.3))},
	{"a link domain, and 10 % of the runs", both(all(sameDomain), runsFrom(3, 0.1))},
	{"the subject", all(sameSubject)},
	{"a subject of 24 letters", all(sameLongSubject)},
	{"the subject, and the address in From", all(sameSubject | sameSender)},
	{"the subject, and 30 % of the words", both(all(sameSubject), wordsFrom(0.3))},
	{"the subject, and 10 % of the runs", both(all(sameSubject), runsFrom(3, 0.1))},
	{"the address in From", all(sameSender)},
	{"40 % of the words", wordsFrom(0.4)},
	{"50 % of the words", wordsFrom(0.5)},
	{"60 % of the words", wordsFrom(0.6)},
	{"80 % of the words", wordsFrom(0.8)},
	{"10 % of the runs", runsFrom(3, 0.1)},
	{"20 % of the runs", runsFrom(3, 0.2)},
	{"30 % of the runs", runsFrom(3, 0.3)},
	{"40 % of the runs", runsFrom(3, 0.4)},
	{"3 rare words", func(p pair) bool { return p.rare >= 3 }},
	{"6 rare words", func(p pair) bool { return p.rare >= 6 }},
	{"12 rare words", func(p pair) bool { return p.rare >= 12 }},
	{"3 rare words, and 30 % of the words", both(func(p pair) bool { return p.rare >= 3 }, wordsFrom(0.3))},
	{"a pair of exact ones", exactPair},
	{"that, or one joined by words or runs", func(p pair) bool {
		return exactPair(p) || both(all(sameOutline), wordsFrom(0.2))(p) || both(oneOf(sameDomain|sameSubject), wordsFrom(0.3))(p) ||
			both(all(sameSubject), runsFrom(3, 0.1))(p)
	}},
	{"two of all that can be joined", func(p pair) bool { return joined(p) >= 2 }},
	{"three of all that can be joined", func(p pair) bool { return joined(p) >= 3 }},
}

// exactPair reports whether two witnesses agree that need no sketch. An outline and a path hit ham.
func exactPair(p pair) bool {
	return p.same&sameDomain != 0 && p.same&(sameOutline|sameSubject) != 0 || p.same&sameSubject != 0 && p.same&(sameOutline|samePath) != 0
}

// joined counts what may join each other. From may not, as it is forged.
func joined(p pair) (n int) {
	for _, is := range []func(p pair) bool{all(sameOutline), all(samePath), all(sameDomain), all(sameSubject), wordsFrom(0.2), runsFrom(3, 0.1)} {
		n += one(is(p))
	}
	return n
}

// labelledTwice is ham of which the same archive has a copy as spam.
const labelledTwice = "trec07p/ham/inmail.03975.eml"

// missedRun reads the archives once.
type missedRun struct {
	archives map[string][]Message
	traits   map[string]*traits
	ham      map[uint64]int // number of ham, by word
	inHam    map[trait]map[uint64]bool
}

// TestMissedFigures prints the tables of contrib/benchmarks.md about what the missed spams have in
// common with earlier ones.
func TestMissedFigures(t *testing.T) {
	r := &missedRun{archives: make(map[string][]Message), traits: make(map[string]*traits), ham: make(map[uint64]int), inHam: make(map[trait]map[uint64]bool)}
	names := []string{"phishing-part", "spamassassin", "lists-part", "trec07p-part"}
	for _, name := range names {
		r.read(t, name)
	}
	free := r.hamHit(t)
	for _, name := range names {
		r.missed(t, name, free)
	}
}

// read signs an archive, and collects the traits of its messages.
func (r *missedRun) read(t *testing.T, name string) {
	var list []Message
	latest := time.Now()
	eachOf(t, name, func(file string, m signature.Message) {
		one := Message{Name: file, Spam: path.Base(path.Dir(file)) == "spam", Time: TimeOf(m, latest), From: FromOf(m), Set: signature.Compute(m)}
		of := traitsOf(m, one.Set)
		list, r.traits[file] = append(list, one), &of
		if one.Spam {
			return
		}
		for _, w := range of.words {
			r.ham[w]++
		}
		for kind, values := range of.values {
			if r.inHam[kind] == nil {
				r.inHam[kind] = make(map[uint64]bool)
			}
			for _, v := range values {
				r.inHam[kind][v] = true
			}
		}
	})
	slices.SortFunc(list, func(a, b Message) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	Sort(list)
	r.archives[name] = list
}

func (r *missedRun) isRare(word uint64) bool { return r.ham[word] <= fewHam }

// hamHit prints how many ham each rule hits if the spam of all archives was reported, and returns
// the rules that hit none, besides the one that is labelled twice.
func (r *missedRun) hamHit(t *testing.T) (free []rule) {
	x := newIndex(r.isRare)
	for _, name := range slices.Sorted(maps.Keys(r.archives)) {
		for _, m := range labelled(r.archives[name], true) {
			x.add(r.traits[m.Name])
		}
	}
	hit, ham := make([]int, len(rules)), 0
	var example = make([][]string, len(rules))
	for _, name := range slices.Sorted(maps.Keys(r.archives)) {
		for _, m := range labelled(r.archives[name], false) {
			if m.Name == labelledTwice {
				continue
			}
			ham++
			for i := range r.fulfilled(x, m.Name, rules) {
				if hit[i]++; len(example[i]) < 4 {
					example[i] = append(example[i], m.Name)
				}
			}
		}
	}
	for i, rule := range rules {
		t.Logf("| %s | %d of %d ham | %v", rule.name, hit[i], ham, example[i])
		if hit[i] == 0 {
			free = append(free, rule)
		}
	}
	return free
}

// fulfilled returns the rules by which a message resembles any reported one.
func (r *missedRun) fulfilled(x *index, file string, of []rule) map[int]bool {
	met := make(map[int]bool)
	x.each(r.traits[file], func(_ int, p pair) {
		for i := range of {
			if !met[i] && of[i].is(p) {
				met[i] = true
			}
		}
	})
	return met
}

// missed prints the classes of the missed spams of an archive, what each rule would catch, and how
// many share something with an earlier spam that no ham has.
func (r *missedRun) missed(t *testing.T, name string, free []rule) {
	result := under(t, r.archives[name], Options{})
	unsigned := make(map[string]bool)
	isMissed := make(map[string]bool)
	for _, m := range result.MissedFiles {
		isMissed[m.File], unsigned[m.File] = true, m.Verdict == "skipped"
	}
	x := newIndex(r.isRare)
	inClass, caught := make([][2]int, len(classes)), make([]int, len(rules))
	byValue, byRule, byAny := 0, 0, 0
	for _, m := range labelled(r.archives[name], true) {
		if isMissed[m.Name] {
			class := slices.Min(append(slices.Collect(maps.Keys(r.fulfilled(x, m.Name, classes))), len(classes)-1))
			inClass[class][0]++
			if unsigned[m.Name] {
				inClass[class][1]++
			}
			for i := range r.fulfilled(x, m.Name, rules) {
				caught[i]++
			}
			hasValue, hasRule := r.sharesValue(x, m.Name), len(r.fulfilled(x, m.Name, free)) > 0
			byValue, byRule, byAny = byValue+one(hasValue), byRule+one(hasRule), byAny+one(hasValue || hasRule)
		}
		x.add(r.traits[m.Name])
	}
	t.Logf("%s: caught %d of %d, missed %d", name, result.Caught, result.Spam, result.Missed)
	for i, c := range classes {
		t.Logf("| %s | %d | %d unsigned", c.name, inClass[i][0], inClass[i][1])
	}
	for i, rule := range rules {
		t.Logf("    | %s | %d", rule.name, caught[i])
	}
	t.Logf("%s: a value that no ham has %d, a rule that hits no ham %d, either %d", name, byValue, byRule, byAny)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sharesValue reports whether a message shares a value with an earlier spam that no ham has.
func (r *missedRun) sharesValue(x *index, file string) bool {
	for kind, values := range r.traits[file].values {
		for _, v := range values {
			if len(x.values[kind][v]) > 0 && !r.inHam[kind][v] {
				return true
			}
		}
	}
	return false
}

// TestGrowthFigures prints the share of the spam that is caught in each quarter of an archive, in the
// order of time and the other way round: more is caught the more was reported before, unless the rest
// has nothing in common with anything.
func TestGrowthFigures(t *testing.T) {
	for _, name := range []string{"phishing-part", "spamassassin", "lists-part", "trec07p-part"} {
		all := readArchive(t, name)
		quarters(t, name, all)
		slices.Reverse(all)
		quarters(t, name+", the newest first", all)
	}
}

func quarters(t *testing.T, row string, all []Message) {
	isMissed := make(map[string]bool)
	for _, m := range under(t, all, Options{}).MissedFiles {
		isMissed[m.File] = true
	}
	var caught, of [4]int
	spams := labelled(all, true)
	for i, m := range spams {
		quarter := 4 * i / len(spams)
		of[quarter]++
		caught[quarter] += one(!isMissed[m.Name])
	}
	t.Logf("| %s | %v of %v", row, caught, of)
}
