package judged_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/signature"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// message returns the nth message, with so many features of a sketch.
func message(n, features int) judged.Message {
	s := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, fmt.Append(nil, n))}
	m := judged.Message{At: noon.Add(time.Duration(n) * time.Second), QueueID: fmt.Sprint("Q", n), Verdict: "clean", Shown: []signature.Signature{s},
		Set: signature.Set{Signatures: []signature.Signature{s}, Counting: []signature.Signature{s}, Domains: []string{"example.org"}}}
	if features > 0 {
		m.Set.Sketches = []signature.Sketch{{Kind: signature.KindSketch, Keys: make([]signature.Feature, features)}}
	}
	return m
}

func queueIDs(list []judged.Message) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.QueueID)
	}
	return ids
}

func everything(*judged.Message) bool { return true }

// The oldest messages are forgotten, the latest are found first, and Since is where the
// memory begins.
func TestOldestIsForgotten(t *testing.T) {
	const bytes = 10_000
	l := judged.New(noon, bytes)
	if found := l.Find(10, everything); len(found) > 0 || !l.Since().Equal(noon) {
		t.Errorf("empty: %v since %v", found, l.Since())
	}
	for n := range 100 {
		l.Add(message(n, 0))
	}
	found := queueIDs(l.Find(1000, everything))
	if len(found) < 10 || len(found) > 30 || found[0] != "Q99" || !slices.IsSortedFunc(found, func(a, b string) int { return -compare(a, b) }) {
		t.Errorf("%v", found)
	}
	oldest := l.Find(1000, everything)[len(found)-1]
	if !l.Since().Equal(oldest.At) {
		t.Errorf("since %v, and the oldest is of %v", l.Since(), oldest.At)
	}
	if got := queueIDs(l.Find(2, everything)); !slices.Equal(got, []string{"Q99", "Q98"}) {
		t.Errorf("two of them: %v", got)
	}
	if got := queueIDs(l.Find(2, func(m *judged.Message) bool { return m.QueueID == "Q97" })); !slices.Equal(got, []string{"Q97"}) {
		t.Errorf("one by its queue id: %v", got)
	}
}

func compare(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}

// A message that would displace many others is kept without its sketches. A list without
// room remembers nothing.
func TestLargeMessage(t *testing.T) {
	l := judged.New(noon, 1<<20)
	l.Add(message(1, 100))
	l.Add(message(2, 10_000))
	found := l.Find(2, everything)
	if len(found) != 2 || len(found[0].Set.Sketches) != 0 || len(found[1].Set.Sketches) != 1 {
		t.Errorf("%+v", found)
	}
	none := judged.New(noon, 0)
	none.Add(message(1, 0))
	if found := none.Find(1, everything); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// The list does not share memory with the caller.
func TestCopies(t *testing.T) {
	l := judged.New(noon, 1<<20)
	m := message(1, 3)
	l.Add(m)
	m.Shown[0].Kind, m.Set.Signatures[0].Kind, m.Set.Counting[0].Kind = 0, 0, 0
	m.Set.Domains[0], m.Set.Sketches[0].Keys[0].Hash = "changed.example", 7
	got := l.Find(1, everything)[0]
	text := signature.KindText
	if got.Shown[0].Kind != text || got.Set.Signatures[0].Kind != text || got.Set.Counting[0].Kind != text ||
		got.Set.Domains[0] != "example.org" || got.Set.Sketches[0].Keys[0].Hash != 0 {
		t.Errorf("%+v", got)
	}
}

// Mail waits for Add, and anybody may search: a search does not hold the list.
func TestSearchDoesNotDelayMail(t *testing.T) {
	l := judged.New(noon, 1<<20)
	for n := range 1000 {
		l.Add(message(n, 0))
	}
	matching, added := make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		defer close(added)
		<-matching
		l.Add(message(1000, 0))
	}()
	found := l.Find(2000, func(*judged.Message) bool {
		once.Do(func() { close(matching) })
		select {
		case <-added:
		case <-time.After(testenv.Patience):
			t.Fatal("a message waits for a search")
		}
		return true
	})
	if ids := queueIDs(found); len(ids) != 1000 || ids[0] != "Q999" || ids[999] != "Q0" {
		t.Errorf("%d found: %v", len(ids), ids)
	}
}

// Messages are added and found at the same time.
func TestTogether(t *testing.T) {
	l := judged.New(noon, 10_000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 200 {
				l.Add(message(n, 3))
				l.Find(3, everything)
				l.Since()
			}
		})
	}
	all.Wait()
	if len(l.Find(1000, everything)) == 0 {
		t.Error("nothing is left")
	}
}
