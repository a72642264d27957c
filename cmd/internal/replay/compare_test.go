package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// sketch has features numbered from..to-1, one a word. The feature at a place is its
// number, so equal numbers are equal text.
func sketch(from, to int) signature.Sketch {
	s := signature.Sketch{Kind: signature.KindSketch}
	for n := from; n < to; n++ {
		f := signature.Feature{Hash: filter.Mix(uint64(n) + 1), Pos: uint32(n - from)}
		s.Anchors, s.Keys = append(s.Anchors, f), append(s.Keys, f)
	}
	return s
}

func set(texts ...string) (s signature.Set) {
	for _, text := range texts {
		s.Signatures = append(s.Signatures, signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte(text))})
	}
	return s
}

func TestCompare(t *testing.T) {
	withSketch := func(sketches ...signature.Sketch) signature.Set { return signature.Set{Sketches: sketches} }
	for _, c := range []struct {
		name            string
		reported, asked signature.Set
		equal           int
		listed, weakly  bool
	}{
		{"nothing", signature.Set{}, signature.Set{}, 0, false, false},
		{"equal signatures", set("a", "b"), set("c", "b", "a"), 2, false, false},
		{"other signatures", set("a"), set("b"), 0, false, false},
		{"equal sketches", withSketch(sketch(0, 200)), withSketch(sketch(0, 200)), 0, true, true},
		{"contained", withSketch(sketch(300, 500)), withSketch(sketch(0, 1000)), 0, true, true},
		{"nothing in common", withSketch(sketch(0, 200)), withSketch(sketch(1000, 1200)), 0, false, false},
		{"a tenth", withSketch(sketch(0, 200)), withSketch(sketch(180, 380)), 0, false, false},
		{"the best of several", withSketch(sketch(5000, 5200), sketch(0, 200)), withSketch(sketch(9000, 9200), sketch(0, 200)), 0, true, true},
		{"too short for a sketch", withSketch(sketch(0, 8)), withSketch(sketch(0, 8)), 0, false, false},
	} {
		got := Compare(c.reported, c.asked)
		listed, weakly := false, false
		for _, o := range got.Sketch {
			listed, weakly = listed || o.Listed(), weakly || o.ListedWeakly()
		}
		if len(got.Equal) != c.equal || listed != c.listed || weakly != c.weakly {
			t.Errorf("%s: %d equal, listed %v, weakly %v; %+v", c.name, len(got.Equal), listed, weakly, got.Sketch)
		}
	}
}

func TestOverlapOfEqual(t *testing.T) {
	got := overlap(sketch(0, 200), sketch(0, 200))
	if got.Matches != KeysTried || got.Weak != KeysTried || got.Found != got.Of || got.Found < got.Need || got.Contained != 1 {
		t.Errorf("%+v", got)
	}
	if got := overlap(sketch(0, 200), sketch(1000, 1200)); got.Of != 0 || got.Found != 0 || got.Matches != 0 || got.Weak != 0 {
		t.Errorf("nothing in common: %+v", got)
	}
}

func TestContained(t *testing.T) {
	for _, c := range []struct {
		reported, asked signature.Sketch
		want            float64
	}{
		{sketch(0, 100), sketch(0, 400), 1},
		{sketch(0, 400), sketch(0, 100), 0.25},
		{sketch(0, 100), sketch(200, 300), 0},
		{sketch(0, 0), sketch(0, 100), 0},
	} {
		if got := contained(c.reported, c.asked); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

func TestCommonDomains(t *testing.T) {
	a := signature.Set{Domains: []string{"a.example", "b.example", "c.example"}}
	b := signature.Set{Domains: []string{"d.example", "c.example", "a.example"}}
	if got := fmt.Sprint(commonDomains(a, b)); got != "[a.example c.example]" {
		t.Error(got)
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       Likeness
	}{
		{"nothing", "", "", Likeness{}},
		{"one is empty", "one two three", "", Likeness{}},
		{"equal", "one two three four", "one two three four", Likeness{1, 1, 1}},
		{"blanks don't matter", "one two  three four", "one\ntwo three four", Likeness{1, 1, 1}},
		{"repeated", "a b c a b c a b c", "a b c a b c", Likeness{1, 1, 1}},
		{"one word more", "a b c d", "a b c d e", Likeness{2. / 3, 1, 2. / 3}},
		{"contained", "b c d", "a b c d e", Likeness{1. / 3, 1, 1. / 3}},
		{"other words", "a b c", "d e f", Likeness{}},
		{"two words", "a b", "a b", Likeness{1, 1, 1}},
		{"no blanks", "一二三四", "零一二三四", Likeness{2. / 3, 1, 2. / 3}},
		{"mixed scripts", "code一二三", "code 一二三", Likeness{1, 1, 1}},
	} {
		got := Texts(c.a, c.b)
		if math.Abs(got.Jaccard-c.want.Jaccard) > 1e-9 || math.Abs(got.AInB-c.want.AInB) > 1e-9 || math.Abs(got.BInA-c.want.BInA) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Compare on real messages: a copy with words in front matches, another text does not.
func TestMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	write := func(words int) string {
		var b strings.Builder
		for range words {
			for range 2 + random.IntN(6) {
				b.WriteByte("abdefghikmnoprstu"[random.IntN(17)])
			}
			b.WriteByte(" \n"[random.IntN(12)/11])
		}
		return b.String()
	}
	sign := func(body string) signature.Set {
		return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + body)))
	}
	text := write(150)
	reported := sign(text)
	if len(reported.Sketches) == 0 {
		t.Fatal("a text of 150 words has no sketch")
	}
	for _, c := range []struct {
		name, body string
		want       bool
	}{{"itself", text, true}, {"behind other words", write(30) + text, true}, {"another", write(150), false}} {
		got := Compare(reported, sign(c.body))
		if len(got.Sketch) != 1 || got.Sketch[0].Listed() != c.want {
			t.Errorf("%s: %+v", c.name, got.Sketch)
		}
	}
}
