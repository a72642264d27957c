package judged_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/signature"
)

// text returns a signature of a text.
func text(n int) signature.Signature {
	s := signature.Signature{Kind: signature.KindText}
	binary.BigEndian.PutUint64(s.Digest[:], uint64(n)*0x9e3779b97f4a7c15)
	return s
}

func seen(at time.Time, sender uint64, copies uint32, texts ...int) judged.Seen {
	m := judged.Seen{At: at, Sender: sender, Copies: copies}
	for _, n := range texts {
		m.Set.Signatures = append(m.Set.Signatures, text(n))
	}
	return m
}

func TestLike(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	anchors := func(from, to uint64) [][]uint64 {
		list := []uint64{}
		for h := from; h < to; h++ {
			list = append(list, h<<20|h)
		}
		return [][]uint64{list}
	}
	sketched := func(sender uint64, from, to uint64) judged.Seen {
		m := seen(now, sender, 1, 1000+int(sender))
		m.Anchors = anchors(from, to)
		return m
	}
	tests := []struct {
		name string
		mail []judged.Seen
		want judged.Likeness
	}{
		{"nothing", nil, judged.Likeness{}},
		{"another text", []judged.Seen{seen(now, 1, 1, 2)}, judged.Likeness{}},
		{"the same text, two senders", []judged.Seen{seen(now, 1, 1, 1), seen(now, 2, 1, 1), seen(now, 2, 1, 1)}, judged.Likeness{Mails: 3, Senders: 2}},
		{"one of its signatures", []judged.Seen{seen(now, 1, 1, 7, 1)}, judged.Likeness{Mails: 1, Senders: 1}},
		{"recipients", []judged.Seen{seen(now, 1, 36, 1)}, judged.Likeness{Mails: 36, Senders: 1}},
		{"a retry", []judged.Seen{seen(now, 1, 0, 1)}, judged.Likeness{}},
		{"over a day ago", []judged.Seen{seen(now.Add(-25*time.Hour), 1, 1, 1)}, judged.Likeness{}},
		{"within a day", []judged.Seen{seen(now.Add(-23*time.Hour), 1, 1, 1)}, judged.Likeness{Mails: 1, Senders: 1}},
		{"near-duplicates", []judged.Seen{sketched(1, 0, 12), sketched(2, 4, 20), sketched(3, 5, 20)}, judged.Likeness{Mails: 2, Senders: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := judged.NewHashes(1 << 16)
			for _, m := range test.mail {
				u.Add(m)
			}
			if got := u.Like(judged.Group{Signatures: []signature.Signature{text(1)}, Anchors: anchors(0, 16), Need: []int{12}}, now); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// Mail is counted between bounds, for each group that it belongs to; mail before the first bound is
// not.
func TestCourses(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	u := judged.NewHashes(1 << 16)
	near := seen(at(70), 1, 2, 99)
	near.Anchors = [][]uint64{{1 << 20, 2 << 20, 3 << 20}}
	far := seen(at(71), 1, 1, 98)
	far.Anchors = [][]uint64{{1 << 20, 4 << 20, 5 << 20}}
	for _, m := range []judged.Seen{seen(at(-1), 1, 1, 1), seen(at(0), 1, 1, 1), seen(at(59), 1, 3, 1, 2), seen(at(60), 1, 1, 7), near, far, seen(at(500), 1, 1, 2)} {
		u.Add(m)
	}
	groups := []judged.Group{
		{Signatures: []signature.Signature{text(1)}, Anchors: [][]uint64{{1 << 20, 2 << 20, 9 << 20}}, Need: []int{2}},
		{Signatures: []signature.Signature{text(2)}},
		{Anchors: [][]uint64{{1 << 20}}, Need: []int{0}}, // this sketch lists nothing
	}
	want := []judged.Course{
		{Mails: []uint64{4, 2, 0}, Last: at(70)},
		{Mails: []uint64{3, 0, 1}, Last: at(500)},
		{Mails: []uint64{0, 0, 0}},
	}
	for i, got := range u.Courses(groups, []time.Time{at(0), at(60), at(120)}) {
		if !slices.Equal(got.Mails, want[i].Mails) || !got.Last.Equal(want[i].Last) {
			t.Errorf("group %d: %+v, want %+v", i, got, want[i])
		}
	}
	if got := u.Courses(nil, []time.Time{noon}); len(got) != 0 {
		t.Errorf("of no group: %+v", got)
	}
	if !u.Since().IsZero() {
		t.Errorf("nothing was forgotten, but mail is complete since %v", u.Since())
	}
	small := judged.NewHashes(8 * 14)
	for i := range 5 {
		small.Add(seen(at(i), 1, 1, i)) // 6 words
	}
	if got := small.Since(); !got.Equal(at(3)) {
		t.Errorf("two messages are kept, since %v", got)
	}
}

// The memory is a queue of the latest mail: what is over the bound is the oldest.
func TestUnlistedIsAQueue(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 200).Draw(t, "words")
		u := judged.NewHashes(8 * room)
		var model [][]int
		for range rapid.IntRange(0, 100).Draw(t, "mails") {
			texts := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 60).Draw(t, "texts")
			u.Add(seen(now, 1, 1, texts...))
			texts = texts[:min(len(texts), 48)]
			if 5+len(texts) <= room {
				model = append(model, texts)
			}
		}
		used, first := 0, len(model)
		for first > 0 && used+5+len(model[first-1]) <= room {
			first--
			used += 5 + len(model[first])
		}
		for n := range 10 {
			want := uint64(0)
			for _, texts := range model[first:] {
				for _, other := range texts {
					if other == n {
						want++
						break
					}
				}
			}
			if got := u.Like(judged.Group{Signatures: []signature.Signature{text(n)}}, now); got.Mails != want {
				t.Fatalf("text %d: %d mails, want %d", n, got.Mails, want)
			}
		}
	})
}

func BenchmarkUnlisted(b *testing.B) {
	now := time.Now()
	u := judged.NewHashes(judged.MaxUnlisted)
	mail := func(n int) judged.Seen {
		m := seen(now, uint64(n), 1, n, n+1, n+2)
		m.Anchors = [][]uint64{make([]uint64, 16)}
		for i := range m.Anchors[0] {
			m.Anchors[0][i] = uint64(n*16+i) * 0x9e3779b97f4a7c15
		}
		return m
	}
	b.Run("Add", func(b *testing.B) {
		for n := range b.N {
			u.Add(mail(n))
		}
	})
	for n := range 200_000 {
		u.Add(mail(n))
	}
	b.Run(fmt.Sprint("Like of ", judged.MaxUnlisted>>20, " MiB"), func(b *testing.B) {
		m := mail(5)
		for range b.N {
			u.Like(judged.Group{Signatures: m.Set.Signatures, Anchors: m.Anchors, Need: []int{12}}, now)
		}
	})
}

// Mail that is added during a look neither delays it for ever nor confuses it: a message that stays in
// memory is counted once.
func TestLikeAndAddTogether(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	u := judged.NewHashes(1 << 20)
	for n := range 10_000 {
		u.Add(seen(now, 1, 1, 2+n))
	}
	known := seen(now, 7, 3, 1)
	known.Known = true
	u.Add(known)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 15_000 { // with the 10,001 before, less than the memory holds
			u.Add(seen(now, 1, 1, 20_000+n))
		}
	}()
	for range 200 {
		if got := u.Like(judged.Group{Signatures: []signature.Signature{text(1)}}, now); got != (judged.Likeness{Mails: 3, Senders: 1, Known: 3}) {
			t.Fatalf("%+v, want 3 mails of one known sender", got)
		}
	}
	<-done
	for n := range 30_000 { // everything older is forgotten
		u.Add(seen(now, 1, 1, 50_000+n))
	}
	if got := u.Like(judged.Group{Signatures: []signature.Signature{text(1)}}, now); got != (judged.Likeness{}) {
		t.Errorf("%+v of forgotten mail", got)
	}
}

// The page asks for the course of hundreds of campaigns at once.
func BenchmarkCourses(b *testing.B) {
	now, u := time.Now(), judged.NewHashes(judged.MaxUnlisted)
	var groups []judged.Group
	for n := range 100_000 {
		m := seen(now, uint64(n), 1, n, n+1, n+2)
		m.Anchors = [][]uint64{make([]uint64, 16)}
		for i := range m.Anchors[0] {
			m.Anchors[0][i] = uint64(n*16+i) * 0x9e3779b97f4a7c15
		}
		if u.Add(m); n%200 == 0 {
			groups = append(groups, judged.Group{Signatures: m.Set.Signatures, Anchors: m.Anchors, Need: []int{12}})
		}
	}
	for b.Loop() {
		u.Courses(groups, []time.Time{now.Add(-time.Hour)})
	}
}
