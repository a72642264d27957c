package crosscheck

import (
	"fmt"
	"math"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// keySet is one of the paper's two sets of trie nodes (Table 1), of which only the
// sizes are used: prefixes (class A) and internal nodes (class B), and how many
// strings that are not nodes were asked for.
type keySet struct {
	name    string
	a, b    int
	queries int
}

var (
	maeWest = keySet{name: "MAE-WEST", a: 14553, b: 62436, queries: 538916}
	telstra = keySet{name: "Telstra", a: 227223, b: 225682, queries: 1358712}
)

// part is what a filter of a structure holds.
type part int

const (
	all    part = iota // S: the single filter, the first dual one, the main one
	second             // S again, with other hash functions: the second dual one
	classA
	classB
)

func (s keySet) keys(p part) int {
	switch p {
	case classA:
		return s.a
	case classB:
		return s.b
	}
	return s.a + s.b
}

// table is one of Tables 3 to 6.
type table struct {
	keySet
	number  int
	hash    string
	rounded bool // filters of M * 2^ceil(log2 n) bits, not M*n
	rows    []structure
}

// structure is a printed cell: one filter (Single-BF), two of all keys (Dual-BF),
// or a main one with two classes (Proposed multi-BF), by their multiples M.
type structure struct {
	multiples []int
	printed   float64 // false positives
	memory    float64 // KB = 1,024 bytes
	note      string
}

func (s structure) name() string {
	kind := []string{"single", "dual", "main-A-B"}[len(s.multiples)-1]
	return kind + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(s.multiples), " ", "-"), "[]")
}

// parts returns the filter to which each multiple belongs.
func (s structure) parts() []part {
	switch len(s.multiples) {
	case 1:
		return []part{all}
	case 2:
		return []part{all, second}
	}
	return []part{all, classA, classB}
}

// size is m of a filter, in bits.
func (t table) size(p part, multiple int) uint64 {
	n := t.keys(p)
	if t.rounded {
		n = 1 << int(math.Ceil(math.Log2(float64(n))))
	}
	return uint64(multiple * n)
}

// hashes is k of a filter (Table 2).
func hashes(multiple int) int { return int(math.Round(float64(multiple) * math.Ln2)) }

// bits is the memory of a structure.
func (t table) bits(s structure) float64 {
	sum := 0.0
	for i, p := range s.parts() {
		sum += float64(t.size(p, s.multiples[i]))
	}
	return sum
}

// estimate is what the equations have for keys that were never added: the rate at
// which they are found, and the relative variance of it from one filling to the
// next.
type estimate struct{ rate, spread float64 }

// oneFilter is Eq. 3. The number of bits left 0 varies as that of empty bins does,
// by m*e^-c*(1-(1+c)e^-c) with c = kn/m, and the rate with the k-th power of the
// rest.
func oneFilter(m, n float64, k int) estimate {
	fill, c := papers.ClassicFill(m, n, k), float64(k)*n/m
	variance := math.Exp(-c) * (1 - (1+c)*math.Exp(-c)) / m
	return estimate{papers.ClassicError(m, n, k), variance * math.Pow(float64(k)/fill, 2)}
}

// crossed is Eq. 31, for any number of classes. Each has its share in the rate
// and, squared, in the spread.
func crossed(main estimate, classes []estimate) estimate {
	var rates []float64
	sum, spread := 0.0, 0.0
	for _, c := range classes {
		rates = append(rates, c.rate)
		sum += c.rate
	}
	for _, c := range classes {
		spread += c.spread * math.Pow(c.rate/sum, 2)
	}
	return estimate{papers.CrossCheckError(main.rate, rates...), main.spread + spread}
}

func (t table) estimate(s structure) estimate {
	var f []estimate
	for i, p := range s.parts() {
		multiple := s.multiples[i]
		f = append(f, oneFilter(float64(t.size(p, multiple)), float64(t.keys(p)), hashes(multiple)))
	}
	if len(f) == 1 {
		return f[0]
	}
	return crossed(f[0], f[1:])
}

// expected is the number of false positives by Eq. 3 or Eq. 31.
func (t table) expected(s structure) float64 { return t.estimate(s).rate * float64(t.queries) }

// Reasons why a printed number differs from Eq. 31.
const (
	noteCRC     = "CRC-64 with registers that start at 0 ignores a string's leading zeros, so strings of different lengths have the same code, and no size of the filter helps: see the last rows of crosscheck-table3"
	noteSeeds   = "the remainder is n*q/2^30: strings with the same seed of rand(); see the rows below"
	noteQueries = "the queries are not independent of the keys: there are exactly 7(n-1) of MAE-WEST and 3(n-1) of Telstra, so they come from the nodes of the trie; Eq. 31 assumes independent queries"
	noteFew     = "Eq. 31 predicts none: they have the same rand() as a key in every filter, as the last rows show for one filter"
	note88      = "760 is a fifth more than Eq. 31, which is more than 5 deviations; the paper does not reveal the cause"
	note816     = "144 does not fit its own table: with the same first filter, a second one of 8 bits a key leaves 245, of 16 bits 144, but 16-16 only 4; f_S*f of Eq. 3 is 5"
	note488     = "103 follows neither from Eq. 31 nor from the printed rows: with 8 bits a key instead of 4 for B, f_A+f_B falls from 0.165 to 0.043, so 7,905 would become about 2,000"
)

var tables = []table{
	{keySet: maeWest, number: 3, hash: "CRC-64", rounded: true, rows: []structure{
		{[]int{8}, 1482, 128, noteCRC}, {[]int{16}, 331, 256, noteCRC}, {[]int{32}, 328, 512, noteCRC},
		{[]int{2, 4}, 6346, 96, ""}, {[]int{4, 4}, 1205, 128, ""}, {[]int{8, 8}, 11, 256, noteCRC},
		{[]int{8, 16}, 7, 384, noteCRC}, {[]int{16, 16}, 7, 512, noteCRC},
		{[]int{4, 4, 4}, 5560, 104, ""}, {[]int{4, 8, 4}, 3541, 112, ""}, {[]int{4, 8, 8}, 740, 144, ""},
		{[]int{8, 16, 16}, 3, 288, ""}, {[]int{8, 32, 16}, 2, 320, ""},
		{[]int{16, 16, 16}, 1, 416, noteCRC}, {[]int{8, 32, 32}, 0, 448, ""},
	}},
	{keySet: telstra, number: 4, hash: "CRC-64", rounded: true, rows: []structure{
		{[]int{4}, 163015, 256, noteCRC}, {[]int{8}, 60381, 512, noteCRC}, {[]int{16}, 50584, 1024, noteCRC},
		{[]int{32}, 50510, 2048, noteCRC}, {[]int{64}, 50428, 4096, noteCRC},
		{[]int{2, 2}, 188941, 256, noteCRC}, {[]int{2, 4}, 57954, 384, noteCRC}, {[]int{4, 4}, 24172, 512, noteCRC},
		{[]int{8, 8}, 7820, 1024, noteCRC}, {[]int{16, 16}, 7184, 2048, noteCRC}, {[]int{32, 32}, 7164, 4096, noteCRC},
		{[]int{2, 2, 2}, 274864, 256, ""}, {[]int{2, 4, 4}, 98313, 384, ""}, {[]int{4, 4, 4}, 38535, 512, noteCRC},
		{[]int{8, 8, 8}, 3225, 1024, noteCRC}, {[]int{16, 16, 16}, 127, 2048, noteCRC}, {[]int{32, 32, 32}, 0, 4096, ""},
	}},
	{keySet: maeWest, number: 5, hash: "rand()", rows: []structure{
		{[]int{8}, 11661, 75.2, ""}, {[]int{16}, 271, 150.4, ""}, {[]int{32}, 46, 300.7, noteSeeds},
		{[]int{2, 4}, 25856, 56.4, noteQueries}, {[]int{4, 4}, 8752, 75.2, noteQueries}, {[]int{8, 8}, 245, 150.4, ""},
		{[]int{8, 16}, 144, 225.6, note816}, {[]int{16, 16}, 4, 300.7, noteFew},
		{[]int{4, 4, 4}, 16966, 75.2, noteQueries}, {[]int{4, 8, 4}, 7905, 82.3, noteQueries}, {[]int{4, 8, 8}, 103, 112.8, note488},
		{[]int{8, 16, 16}, 0, 225.6, ""}, {[]int{8, 32, 16}, 0, 254.0, ""},
	}},
	{keySet: telstra, number: 6, hash: "rand()", rows: []structure{
		{[]int{4}, 198897, 221.1, ""}, {[]int{8}, 29495, 442.3, ""}, {[]int{16}, 1137, 884.6, noteSeeds},
		{[]int{32}, 552, 1769.2, noteSeeds}, {[]int{64}, 528, 3538.3, noteSeeds},
		{[]int{2, 2}, 208669, 221.1, noteQueries}, {[]int{2, 4}, 77212, 331.7, noteQueries}, {[]int{4, 4}, 28279, 442.3, noteQueries},
		{[]int{8, 8}, 760, 884.6, note88}, {[]int{16, 16}, 12, 1769.2, noteFew}, {[]int{32, 32}, 9, 3538.3, noteFew},
		{[]int{2, 2, 2}, 332055, 221.1, noteQueries}, {[]int{2, 4, 4}, 143324, 331.7, noteQueries}, {[]int{4, 4, 4}, 52465, 442.3, noteQueries},
		{[]int{8, 8, 8}, 1233, 884.6, ""}, {[]int{16, 16, 16}, 4, 1769.2, noteFew}, {[]int{32, 32, 32}, 1, 3538.3, noteFew},
	}},
}
