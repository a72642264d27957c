package desk_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// lookupDesk returns a stage, and a second desk on it with a list of judged messages.
func lookupDesk(t *testing.T) (*desktest.Stage, *desk.Desk, *judged.List) {
	t.Helper()
	s := desktest.New(t, trust.Default(), 0)
	list := judged.New(desktest.Noon, 1<<20)
	return s, desk.New(s.DB, s.Ledger, desk.Options{Judged: list}), list
}

// A request without a message is rejected, also from a trap, and counted by its reason.
func TestNoHeader(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	program := desktest.Letter(1, 0)
	program.NoHeader = true
	for what, enter := range map[string]func(desk.Report) error{
		"report": func(r desk.Report) error { _, err := s.Report(r); return err },
		"revoke": func(r desk.Report) error { _, err := s.Revoke(r); return err },
		"never":  func(r desk.Report) error { _, err := s.Never(r, ""); return err },
	} {
		for _, trap := range []bool{false, true} {
			if err := enter(desk.Report{Set: program, Reporter: "anna", Trap: trap}); !errors.Is(err, signature.ErrNoHeader) {
				t.Errorf("%s (trap: %v): %v", what, trap, err)
			}
		}
	}
	s.WantListed("a program", program, false)
	desktest.WantMetric(t, s.Collectors(), `spambloom_reports_refused_total{action="report",reason="no_header"} 2`)
	if _, err := s.RemoveNever(desk.Report{Set: program}, ""); err != nil {
		t.Errorf("removing a message that cannot be declared: %v", err)
	}
}

// A repeated report of one reporter is answered as known.
func TestKnown(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Letter(1, 0)
	for i, want := range []bool{false, true} {
		if o := s.MustReport("anna", m); o.Known != want {
			t.Errorf("report %d: known %v", i+1, o.Known)
		}
	}
	if o := s.MustReport("bert", m); o.Known {
		t.Error("another reporter's first report is known")
	}
}

// A message is found by the id of each of its signatures, in the ledger, the list of judged
// messages, or both. It can be revoked by that id, with its near-duplicates.
func TestLookup(t *testing.T) {
	s, d, list := lookupDesk(t)
	reported, near := desktest.Letter(1, 0), desktest.Letter(1, 9)
	s.MustReport("anna", reported)
	s.WantListed("a near-duplicate", near, true)
	for _, sig := range reported.Signatures {
		known, e, signed, err := d.Lookup(api.LookupRequest{ID: sig.ID()}, signature.Set{})
		if err != nil || !signed || !e.Listed || known.Explanation == nil || len(known.Reports) != 1 || len(known.Judged) != 0 || len(known.Unknown) != 1 {
			t.Errorf("%s: %+v, %v, %v", sig.ID(), known, e.Listed, err)
		}
	}

	list.Add(judged.Message{At: desktest.Noon, QueueID: "4F2A", Verdict: "spam", Shown: shownOf(s.DB.Judge(near)), Set: near})
	for _, ask := range []api.LookupRequest{{QueueID: "4F2A"}, {ID: near.Signatures[0].ID()}, {ID: s.DB.Judge(near).Matches[0].Signature.ID()}} {
		known, e, signed, err := d.Lookup(ask, signature.Set{})
		if err != nil || !signed || !e.Listed || len(known.Judged) != 1 || known.Judged[0].QueueID != "4F2A" || len(known.Reports) != 1 || len(known.Unknown) != 0 {
			t.Errorf("%+v: %+v, %v, %v", ask, known, e.Listed, err)
		}
	}
	set, err := d.Find(api.LookupRequest{QueueID: "4F2A"})
	testenv.Check(t, err)
	if _, err := d.Revoke(desk.Report{Set: set, Reporter: "root"}); err != nil {
		t.Fatal(err)
	}
	s.WantListed("revoked by its queue id", near, false)
}

func shownOf(e bloomdb.Evidence) (shown []signature.Signature) {
	for _, m := range e.Matches {
		shown = append(shown, m.Signature)
	}
	return shown
}

// A revocation by id of a message found only in the ledger also revokes its sketch.
func TestRevokeByLedger(t *testing.T) {
	s, d, list := lookupDesk(t)
	reported, near := desktest.Letter(1, 0), desktest.Letter(1, 9)
	clean := near
	clean.Sketches, clean.Domains = nil, nil
	list.Add(judged.Message{At: desktest.Noon, QueueID: "before", Verdict: "clean", Set: clean})
	s.MustReport("anna", reported)
	set, err := d.Find(api.LookupRequest{ID: reported.Signatures[1].ID()})
	if err != nil || len(set.Sketches) == 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	if o, err := d.Revoke(desk.Report{Set: set, Reporter: "root"}); err != nil || o.Idle {
		t.Fatalf("%+v, %v", o, err)
	}
	s.WantListed("the message", reported, false)
	s.WantListed("a near-duplicate", near, false)
}

// Revoking an unknown message is an error; explaining it returns a sentence.
func TestLookupUnknown(t *testing.T) {
	_, d, _ := lookupDesk(t)
	for _, ask := range []api.LookupRequest{{ID: "text:0011223344556677"}, {ID: "sketch:0011223344556677"}, {QueueID: "4F2A"}} {
		known, _, signed, err := d.Lookup(ask, signature.Set{})
		if err != nil || signed || known.Explanation != nil || len(known.Unknown) != 1 || !known.Since.Equal(desktest.Noon) {
			t.Errorf("%+v: %+v, %v", ask, known, err)
		}
		if _, err := d.Find(ask); !errors.Is(err, desk.ErrUnknown) {
			t.Errorf("%+v: %v", ask, err)
		}
	}
	if _, _, _, err := d.Lookup(api.LookupRequest{ID: "text"}, signature.Set{}); err == nil {
		t.Error("a text that is not an id is accepted")
	}
}

// A reporter who names a message's text beside the parts of another message does not turn an
// administrator's revocation by id against that one. The revocation is refused, and copies that differ
// in their bodies are not taken for other messages.
func TestFindMixed(t *testing.T) {
	s, d, _ := lookupDesk(t)
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	i := slices.IndexFunc(newsletter.Signatures, func(s signature.Signature) bool { return s.Kind == signature.KindText })
	text := newsletter.Signatures[i]
	another := newsletter
	another.Signatures = append(desktest.Set("another body").Signatures, text)
	ask := api.LookupRequest{ID: text.ID()}
	s.MustReport("anna", spam)
	s.MustReport("carla", newsletter)
	s.MustReport("bob", another)
	if set, err := d.Find(ask); err != nil || !slices.Contains(set.Signatures, text) || len(set.Sketches) != 1 {
		t.Errorf("copies of one message: %+v, %v", set, err)
	}
	withFile := newsletter
	withFile.Signatures = append(slices.Clone(newsletter.Signatures), desktest.Set("", "", "a file of the spam").Signatures[2])
	withText := spam
	withText.Signatures = []signature.Signature{spam.Signatures[0], text}
	for who, mixed := range map[string]signature.Set{"mallory": withText, "trent": withFile} {
		s.MustReport(who, mixed)
		if set, err := d.Find(ask); !errors.Is(err, desk.ErrAmbiguous) {
			t.Errorf("after the report of %s: %+v, %v", who, set, err)
		}
		_, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.AddDate(0, 0, -1)}, desk.Author{Name: "root"})
		testenv.Check(t, err)
		if set, err := d.Find(ask); err != nil || canReach(set, spam) {
			t.Errorf("after the undo of %s: %+v, %v", who, set, err)
		}
	}
}

// canReach reports whether a set has a part of another message.
func canReach(set, other signature.Set) bool {
	return slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return slices.Contains(other.Signatures, s) })
}

// TestFindJudged is the attack "id": a sender sends the text of a newsletter with the file of a spam, or a program
// on the milter's port names the queue id of the newsletter. An administrator who revokes the newsletter by its id
// does not take back the report of the spam.
func TestFindJudged(t *testing.T) {
	s, d, list := lookupDesk(t)
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	file := desktest.Set("", "", "a file of the spam").Signatures[2]
	spam.Signatures = append(slices.Clone(spam.Signatures), file)
	s.MustReport("bob", spam)
	s.MustReport("anna", desktest.Letter(1, 3))
	with := func(m signature.Set, s signature.Signature) signature.Set {
		m.Signatures = append(slices.Clone(m.Signatures), s)
		return m
	}
	mixed := with(newsletter, file)
	list.Add(judged.Message{At: desktest.Noon, QueueID: "news", Verdict: "spam", Set: newsletter})
	list.Add(judged.Message{At: desktest.Noon, QueueID: "mixed", Verdict: "spam", Set: mixed})
	list.Add(judged.Message{At: desktest.Noon, QueueID: "alone", Verdict: "spam", Set: spam})
	for _, sig := range newsletter.Signatures {
		if set, err := d.Find(api.LookupRequest{ID: sig.ID()}); err != nil || canReach(set, spam) || len(set.Sketches) == 0 {
			t.Errorf("%s: %+v, %v", sig.ID(), set, err)
		}
	}
	logo := desktest.Set("", "", "a logo").Signatures[2]
	for i, m := range []signature.Set{newsletter, spam} {
		m.Signatures = append(slices.Clone(m.Signatures), logo)
		list.Add(judged.Message{At: desktest.Noon, QueueID: fmt.Sprint("logo", i), Verdict: "spam", Set: m})
	}
	if set, err := d.Find(api.LookupRequest{ID: logo.ID()}); err != nil || !slices.Equal(set.Signatures, []signature.Signature{logo}) || len(set.Sketches) > 0 {
		t.Errorf("a logo: %+v, %v", set, err)
	}
	for kind, mails := range map[signature.Kind][]signature.Set{
		signature.KindSketch: {desktest.Letter(1, 5), with(desktest.Letter(1, 6), file)},
		signature.KindImage:  {desktest.Letter(1, 5), spam},
	} {
		shown := signature.Signature{Kind: kind, Digest: signature.Digest{7}}
		for _, m := range mails {
			list.Add(judged.Message{At: desktest.Noon, QueueID: "near", Verdict: "spam", Set: m, Shown: []signature.Signature{shown}})
		}
		if set, err := d.Find(api.LookupRequest{ID: shown.ID()}); canReach(set, spam) || kind == signature.KindSketch && (err != nil || len(set.Sketches) == 0) {
			t.Errorf("%s: %+v, %v", shown.ID(), set, err)
		}
	}
	if set, err := d.Find(api.LookupRequest{QueueID: "alone"}); err != nil || !canReach(set, spam) {
		t.Errorf("%+v, %v", set, err)
	}
	for _, other := range []signature.Set{mixed, spam} {
		list.Add(judged.Message{At: desktest.Noon, QueueID: "news", Verdict: "spam", Set: other})
		if set, err := d.Find(api.LookupRequest{QueueID: "news"}); err == nil && canReach(set, spam) || err != nil && !errors.Is(err, desk.ErrAmbiguous) {
			t.Errorf("%+v, %v", set, err)
		}
	}
}

// TestFindJudgedOften is TestFindJudged with more copies than a lookup shows.
func TestFindJudgedOften(t *testing.T) {
	s, list := desktest.New(t, trust.Default(), 0), judged.New(desktest.Noon, judged.MaxMemory)
	d := desk.New(s.DB, s.Ledger, desk.Options{Judged: list})
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	file := desktest.Set("", "", "a file of the spam").Signatures[2]
	spam.Signatures = append(slices.Clone(spam.Signatures), file)
	s.MustReport("bob", spam)
	mixed := newsletter
	mixed.Signatures = append(slices.Clone(newsletter.Signatures), file)
	for _, of := range []struct {
		queueID string
		other   signature.Set
	}{{"queue", spam}, {"text", mixed}} {
		list.Add(judged.Message{At: desktest.Noon, QueueID: of.queueID, Verdict: "spam", Set: newsletter})
		for range 120 {
			list.Add(judged.Message{At: desktest.Noon, QueueID: of.queueID, Verdict: "spam", Set: of.other})
		}
	}
	if set, err := d.Find(api.LookupRequest{ID: newsletter.Signatures[0].ID()}); err != nil || canReach(set, spam) {
		t.Errorf("copies with the file of a spam: %+v, %v", set.Signatures, err)
	}
	if set, err := d.Find(api.LookupRequest{QueueID: "queue"}); !errors.Is(err, desk.ErrAmbiguous) {
		t.Errorf("a spam with the newsletter's queue id: %+v, %v", set.Signatures, err)
	}
	if known, _, _, err := d.Lookup(api.LookupRequest{QueueID: "queue"}, signature.Set{}); err != nil || len(known.Judged) != 100 {
		t.Errorf("a lookup shows %d mails, %v", len(known.Judged), err)
	}
}
