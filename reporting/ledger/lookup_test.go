package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// All reports of messages with a signature are found by the beginning of its digest, whatever
// their state, the latest first.
func TestLookup(t *testing.T) {
	l := open(t, small)
	enter := func(stance Stance, reporter string, set signature.Set, at time.Time) {
		t.Helper()
		d, err := l.Enter(Entry{Stance: stance, Reporter: reporter, At: at, Period: begin, Set: set})
		testenv.Check(t, err)
		l.Settle(d)
	}
	for i, reporter := range []string{"anna", "bert", "carl", "dora", "emil", "fred", "gina", "hugo", "ida", "jan"} {
		enter(Spam, reporter, message(1, 100+i), begin.Add(time.Duration(i)*time.Minute))
	}
	enter(Ham, "anna", message(1, 100), begin.Add(time.Hour))
	enter(Spam, "anna", message(2, 200), begin.Add(time.Hour))

	prefix := func(s signature.Signature) [8]byte { return [8]byte(s.Digest[:8]) }
	text := sign(signature.KindText, 1)
	list, err := l.Lookup(text.Kind, prefix(text), 100)
	if err != nil || len(list) != 11 || list[0].Stance != Ham || list[0].Reporter != "anna" || list[10].State == Counts {
		t.Fatalf("%d reports, %v", len(list), err)
	}
	if !slices.IsSortedFunc(list, func(a, b Report) int { return int(b.ID) - int(a.ID) }) {
		t.Error("the latest report is not the first in the list")
	}
	for _, r := range list {
		if !slices.Contains(r.Set.Signatures, text) {
			t.Errorf("report %d is of another message", r.ID)
		}
	}
	if two, err := l.Lookup(text.Kind, prefix(text), 2); err != nil || len(two) != 2 || two[0].ID != list[0].ID {
		t.Errorf("two of them: %v, %v", two, err)
	}
	body := sign(signature.KindBody, 105)
	if of, err := l.Lookup(body.Kind, prefix(body), 100); err != nil || len(of) != 1 || of[0].Reporter != "fred" {
		t.Errorf("by its body: %v, %v", of, err)
	}
	for _, kind := range []signature.Kind{signature.KindBody, signature.KindSketch} {
		if none, err := l.Lookup(kind, prefix(text), 100); err != nil || len(none) > 0 {
			t.Errorf("%v with the digest of a text: %v, %v", kind, none, err)
		}
	}
	if none, err := l.Lookup(text.Kind, [8]byte{1}, 100); err != nil || len(none) > 0 {
		t.Errorf("an unknown id: %v, %v", none, err)
	}
}
