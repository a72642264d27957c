package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// exported is the ledger's export.
func exported(t testing.TB, l *Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := l.Export(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plain(text string) error {
	if strings.ContainsAny(text, "\n\x1b") {
		return fmt.Errorf("%q is no name", text)
	}
	return nil
}

func from(data []byte, now time.Time) ImportOptions {
	return ImportOptions{
		Open: func() (io.Reader, error) { return bytes.NewReader(data), nil },
		Now:  now, Period: begin.Add(now.Sub(begin).Truncate(week)), CheckText: plain,
	}
}

func imported(t testing.TB, l *Ledger, o ImportOptions) Imported {
	t.Helper()
	sum, err := l.Import(o)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// content is all that can be asked of a ledger: reporters, reports without their
// numbers, and the tally of each of these messages.
func content(t testing.TB, l *Ledger, now time.Time) (lines []string) {
	t.Helper()
	reporters, err := l.Reporters("", 1000, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reporters {
		override := "none"
		if r.Override != nil {
			override = fmt.Sprint(*r.Override)
		}
		r.Override = nil
		lines = append(lines, fmt.Sprintf("%+v override %s", r, override))
	}
	reports, _, err := l.Reports(Query{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Key]bool{}
	for _, r := range reports {
		r.ID = 0
		lines = append(lines, fmt.Sprintf("%+v", r))
		for _, k := range keysOf(r.Set, r.Anchors) {
			if !seen[k] {
				seen[k] = true
				lines = append(lines, tallyLine(t, l, k))
			}
		}
	}
	return lines
}

// tallyLine shows a tally without numbers that differ between files.
func tallyLine(t testing.TB, l *Ledger, k Key) (line string) {
	t.Helper()
	if err := l.view(func(t *txn) error {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		words := map[string]string{}
		err = t.eachOpinion(k, y, func(o opinion) bool {
			who, _ := t.reporterByID(o.reporter)
			words[who.name] = fmt.Sprint(o.stance(), o.at, o.weight, o.early)
			return true
		})
		line = fmt.Sprintf("%x: %v listed %v revoked %v past %d: %v", k, y.sums, y.listed, y.revoked, len(y.past), words)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return line
}

// history is a random one: reports, revocations, overrides and undo over five weeks.
func history(t *rapid.T, v voice) time.Time {
	steps := rapid.IntRange(1, 60).Draw(t, "steps")
	at := begin
	for range steps {
		at = at.Add(time.Duration(rapid.IntRange(0, 14*3600).Draw(t, "seconds")) * time.Second)
		v.at = at
		who := fmt.Sprintf("r%d", rapid.IntRange(1, 25).Draw(t, "who"))
		switch rapid.IntRange(0, 20).Draw(t, "what") {
		case 0:
			w := float64(rapid.IntRange(0, 2000).Draw(t, "weight")) / 1000
			if _, err := v.l.SetWeight(who, &w, at); err != nil {
				t.Fatal(err)
			}
		case 1:
			if _, err := v.l.Withdraw(Undo{Reporter: who, Since: at.Add(-week), At: at}); err != nil {
				t.Fatal(err)
			}
		default:
			n := rapid.IntRange(1, 3).Draw(t, "text")
			set := message(n, rapid.IntRange(1, 4).Draw(t, "body"))
			set.Sketches = []signature.Sketch{{Kind: signature.KindSketch, Keys: []signature.Feature{{Pos: 1, Hash: uint64(n)}}}}
			set.Domains = []string{"example.com"}
			v.trap = rapid.IntRange(0, 9).Draw(t, "trap") == 0
			v.say(Stance(rapid.IntRange(0, 1).Draw(t, "stance")), who, set, Anchors{Hashes: []uint64{uint64(n), uint64(n + 1)}, Need: 1})
		}
	}
	return at
}

// An export that is taken by an empty ledger gives the same one; taken twice, or by the
// ledger it is of, it changes nothing, and nothing is due by it.
func TestExportImport(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open(t, large), open(t, large)
		now := history(rt, voice{t: t, l: a})
		data := exported(t, a)
		want := content(t, a, now)
		first := imported(t, b, from(data, now))
		if got := content(t, b, now); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		again := imported(t, b, from(data, now))
		if got := content(t, b, now); !reflect.DeepEqual(got, want) || again.Reports != 0 || again.Known != first.Reports {
			rt.Fatalf("taken twice, %+v:\n%s\nwant\n%s", again, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		own := imported(t, a, from(data, now))
		if got := content(t, a, now); !reflect.DeepEqual(got, want) || own.Reports != 0 {
			rt.Fatalf("taken by itself, %+v:\n%s\nwant\n%s", own, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if first.Due+again.Due+own.Due > 0 {
			rt.Fatalf("due: %+v, %+v, %+v", first, again, own)
		}
	})
}

// Two sites become one: what had the quorum at neither and has it together is due, once.
func TestImportJoins(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	at := begin.Add(time.Hour)
	voice{t: t, l: a, at: at}.say(Spam, "anna", message(1, 1))
	voice{t: t, l: b, at: begin}.say(Spam, "dora", message(2, 2))
	voice{t: t, l: a, at: at}.say(Ham, "anna", message(2, 2)) // idle, as nobody reported it there
	voice{t: t, l: b, at: at}.say(Spam, "bob", message(1, 7))
	voice{t: t, l: b, at: at}.say(Ham, "bob", message(2, 2))
	voice{t: t, l: b, at: at}.say(Spam, "carl", message(3, 3))
	data := exported(t, a)
	if sum := imported(t, b, from(data, at)); sum != (Imported{Reporters: 1, Reports: 2, Due: 3}) {
		t.Errorf("%+v", sum)
	}
	due, err := b.Due(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, d := range due {
		for _, s := range d.Set.Signatures {
			got[fmt.Sprint(d.Action, s.ID())] = true
		}
	}
	want := map[string]bool{fmt.Sprint(List, message(1, 0).Signatures[0].ID()): true} // the bodies differ
	for _, s := range message(2, 2).Signatures {
		want[fmt.Sprint(Revoke, s.ID())] = true
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("due %v, want %v", got, want)
	}
	before := content(t, b, at)
	if sum := imported(t, b, from(data, at)); sum != (Imported{Known: 2}) || !reflect.DeepEqual(content(t, b, at), before) {
		t.Errorf("taken twice: %+v", sum)
	}
}

// A reporter's later word counts, wherever it was said, and a revocation closes the case
// of the reports before it.
func TestImportLaterWordCounts(t *testing.T) {
	for _, there := range []bool{true, false} {
		a, b := open(t, pair), open(t, pair)
		early, late := voice{t: t, l: a, at: begin}, voice{t: t, l: b, at: begin.Add(time.Hour)}
		if !there { // the later word is in the export
			early.l, late.l = b, a
		}
		early.say(Spam, "anna", message(1, 1))
		early.say(Spam, "bob", message(1, 1))
		late.say(Ham, "anna", message(1, 1))
		imported(t, b, from(exported(t, a), late.at))
		reports, _, err := b.Reports(Query{Reporter: "anna", Limit: 10})
		if err != nil || len(reports) != 2 {
			t.Fatal(reports, err)
		}
		for _, r := range reports {
			if want := map[Stance]State{Ham: Counts, Spam: Withdrawn}[r.Stance]; r.State != want {
				t.Errorf("the later word there %v: stance %v of anna %s, want %s", there, r.Stance, r.State, want)
			}
		}
		d := voice{t: t, l: b, at: late.at}.say(Spam, "carl", message(1, 1))
		if d.Sum.Float() != 2 { // bob's and carl's
			t.Errorf("sum %v", d.Sum)
		}
	}
}

func TestImportClosedCase(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	early, late := voice{t: t, l: a, at: begin}, voice{t: t, l: b, at: begin.Add(time.Hour)}
	early.say(Spam, "anna", message(1, 1))
	late.say(Ham, "bob", message(1, 1))
	late.say(Ham, "carl", message(1, 1))
	for _, way := range []struct{ to, from *Ledger }{{b, a}, {a, b}} {
		imported(t, way.to, from(exported(t, way.from), late.at))
		if d := (voice{t: t, l: way.to, at: late.at.Add(time.Minute)}).say(Spam, "dora", message(1, 1)); d.Sum.Float() != 1 {
			t.Errorf("a report from before the revocation counts: sum %v", d.Sum)
		}
		if _, err := way.to.Withdraw(Undo{Reporter: "dora"}); err != nil {
			t.Fatal(err)
		}
	}
}

// A revocation of what only reporters without weight had reported took nothing back, and
// an import does not say that it did: or what is reported next would not be listed.
func TestImportOfNothingToRevoke(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	v, zero := voice{t: t, l: a, at: begin}, 0.0
	if _, err := a.SetWeight("mallory", &zero, begin); err != nil {
		t.Fatal(err)
	}
	v.say(Spam, "mallory", message(1, 1))
	v.at = v.at.Add(time.Hour)
	v.say(Ham, "anna", message(1, 1))
	v.wants(v.say(Ham, "bert", message(1, 1)), None, 0)
	if done := imported(t, b, from(exported(t, a), v.at)); done.Due != 0 {
		t.Errorf("due by the import: %+v", done)
	}
	if got, want := content(t, b, v.at), content(t, a, v.at); !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What was undone here after an import does not come back by another one.
func TestImportAfterUndo(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	v := voice{t: t, l: a, at: begin}
	v.say(Spam, "anna", message(1, 1))
	data := exported(t, a)
	imported(t, b, from(data, begin))
	if done, err := b.Withdraw(Undo{Reporter: "anna"}); err != nil || done.Reports != 1 {
		t.Fatal(done, err)
	}
	imported(t, b, from(data, begin))
	if d := (voice{t: t, l: b, at: begin}).say(Spam, "bob", message(1, 1)); d.Sum.Float() != 1 {
		t.Errorf("an undone report counts again: %v", d.Sum)
	}
}

// Where the filters do not come along, what has the quorum by this period's reports is
// due; under another key nothing of a sketch is taken.
func TestImportWithoutFilters(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	sketched := message(1, 1)
	sketched.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
	for _, who := range []string{"anna", "bob"} {
		voice{t: t, l: a, at: begin}.say(Spam, who, message(9, 9)) // of the period before
		voice{t: t, l: a, at: begin.Add(week)}.say(Spam, who, sketched, Anchors{Hashes: []uint64{1, 2}, Need: 1})
		voice{t: t, l: a, at: begin.Add(week)}.say(Spam, "carl", message(2, 2))
		voice{t: t, l: a, at: begin.Add(week + time.Minute)}.say(Ham, who, message(2, 2))
	}
	voice{t: t, l: a, at: begin.Add(week)}.say(Spam, "anna", message(3, 3)) // lacks the quorum
	o := from(exported(t, a), begin.Add(week+time.Hour))
	o.Relist, o.OtherKey = true, true
	for range 2 {
		imported(t, b, o)
	}
	due, err := b.Due(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, d := range due {
		got[fmt.Sprintf("%d %s sketches %d", d.Action, d.Set.Signatures[0].ID(), len(d.Set.Sketches))] = true
	}
	want := map[string]bool{}
	for set, action := range map[int]Action{1: List, 2: Revoke} {
		want[fmt.Sprintf("%d %s sketches 0", action, message(set, set).Signatures[0].ID())] = true
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("due %v, want %v", got, want)
	}
	if reports, _, err := b.Reports(Query{Reporter: "anna", Limit: 10}); err != nil || len(reports) != 4 || len(reports[2].Set.Sketches) != 0 {
		t.Errorf("%+v, %v", reports, err)
	}
}

// Times of the future are none, and what is past Memory is left out.
func TestImportTimes(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	voice{t: t, l: a, at: begin}.say(Spam, "anna", message(1, 1))
	voice{t: t, l: a, at: begin.Add(60 * 24 * time.Hour)}.say(Spam, "bob", message(1, 1))
	now := begin.Add(40 * 24 * time.Hour)
	if sum := imported(t, b, from(exported(t, a), now)); sum != (Imported{Reporters: 2, Reports: 1, Old: 1}) {
		t.Errorf("%+v", sum)
	}
	if r, ok, err := b.Reporter("bob", now); err != nil || !ok || r.Last.After(now) || r.Reputation.At.After(now) {
		t.Errorf("%+v, %v", r, err)
	}
	reports, _, err := b.Reports(Query{Limit: 10})
	if err != nil || len(reports) != 1 || reports[0].At.After(now) {
		t.Errorf("%+v, %v", reports, err)
	}
}

// Cut anywhere, or not fitting together: nothing is taken.
func TestImportDamaged(t *testing.T) {
	a := open(t, pair)
	for i := range maxInline + 3 { // a tally has no room for all
		voice{t: t, l: a, at: begin}.say(Spam, fmt.Sprint("r", i), message(1, 1))
	}
	data := exported(t, a)
	b := open(t, pair)
	refused := func(what string, data []byte) {
		t.Helper()
		sum, err := b.Import(from(data, begin))
		if !errors.Is(err, ErrExport) || sum != (Imported{}) {
			t.Fatalf("%s: %+v, %v", what, sum, err)
		}
		if s, err := b.Status(); err != nil || s.Reports != 0 || s.Reporters != 0 || s.Due != 0 {
			t.Fatalf("%s: %+v, %v", what, s, err)
		}
	}
	for n := range data {
		refused(fmt.Sprintf("cut at %d of %d", n, len(data)), data[:n])
	}
	refused("a byte more", append(bytes.Clone(data), 0))
	refused("another version", append([]byte{exportVersion + 1}, data[1:]...))
	for what, change := range map[string]func([][]byte) [][]byte{
		"no reporters":      func(r [][]byte) [][]byte { return r[1:] },
		"a reporter twice":  func(r [][]byte) [][]byte { return append([][]byte{r[0]}, r...) },
		"a lost opinion":    func(r [][]byte) [][]byte { return append(r[:len(r)-2:len(r)-2], r[len(r)-1]) },
		"in another order":  func(r [][]byte) [][]byte { return append([][]byte{r[len(r)-2]}, r...) },
		"no end":            func(r [][]byte) [][]byte { return r[:len(r)-1] },
		"a record too long": func(r [][]byte) [][]byte { return append([][]byte{make([]byte, maxRecord+1)}, r...) },
		"an empty record":   func(r [][]byte) [][]byte { return append([][]byte{{}}, r...) },
		"an unknown record": func(r [][]byte) [][]byte { return append([][]byte{{'z'}}, r...) },
		"a terminal's code in a name": func(r [][]byte) [][]byte {
			r[0] = bytes.Replace(r[0], []byte("r0"), []byte("\x1b0"), 1)
			return r
		},
	} {
		refused(what, join(data, change(split(data))))
	}
	if sum := imported(t, b, from(join(data, split(data)), begin)); sum.Reports != maxInline+3 {
		t.Errorf("put together again: %+v", sum)
	}
}

// split takes an export apart, join puts it together.
func split(data []byte) (records [][]byte) {
	for b := data[exportHead:]; len(b) > 0; {
		n := binary.BigEndian.Uint32(b)
		records, b = append(records, bytes.Clone(b[4:4+n])), b[4+n:]
	}
	return records
}

func join(head []byte, records [][]byte) []byte {
	b := bytes.Clone(head[:exportHead])
	for _, r := range records {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r))), r...)
	}
	return b
}

func TestImportFull(t *testing.T) {
	a := open(t, pair)
	for i := range 5 {
		voice{t: t, l: a, at: begin}.say(Spam, "anna", message(i, i))
	}
	b, err := Open(Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: pair, Max: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if sum, err := b.Import(from(exported(t, a), begin)); !errors.Is(err, ErrFull) || sum != (Imported{}) {
		t.Errorf("%+v, %v", sum, err)
	}
}

// What imports brought is forgotten with the reports.
func TestImportForgotten(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	voice{t: t, l: a, at: begin}.say(Spam, "anna", message(1, 1))
	data := exported(t, a)
	imported(t, b, from(data, begin))
	late := begin.Add(defaultMemory + time.Hour)
	if _, err := b.Expire(late); err != nil {
		t.Fatal(err)
	}
	if sum := imported(t, b, from(data, late)); sum != (Imported{Old: 1}) {
		t.Errorf("%+v", sum)
	}
	if err := b.view(func(t *txn) error {
		if n := t.imported().Stats().KeyN; n != 0 {
			return fmt.Errorf("%d numbers of forgotten reports are kept", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// An import brings older reports behind newer ones: they are found by their times, and
// forgotten in their time, all the same.
func TestImportOutOfOrder(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	day := 24 * time.Hour
	for i := range 3 {
		voice{t: t, l: a, at: begin.Add(time.Duration(i) * day)}.say(Spam, "anna", message(i, i))
		voice{t: t, l: b, at: begin.Add(time.Duration(20+i) * day)}.say(Spam, "bob", message(10+i, 10+i))
	}
	now := begin.Add(23 * day)
	imported(t, b, from(exported(t, a), now))
	imported(t, b, from(exported(t, a), now))
	voice{t: t, l: b, at: now}.say(Spam, "carl", message(20, 20))
	if list, _, err := b.Reports(Query{Since: begin.Add(20 * day), Limit: 10}); err != nil || len(list) != 4 {
		t.Errorf("%d of the last four reports, %v", len(list), err)
	}
	if list, next, err := b.Reports(Query{Since: begin, Limit: 10}); err != nil || len(list) != 7 || next != 0 {
		t.Errorf("%d of seven reports, %v", len(list), err)
	}
	if _, err := b.Expire(begin.Add(defaultMemory + 10*day)); err != nil {
		t.Fatal(err)
	}
	if list, _, err := b.Reports(Query{Limit: 10}); err != nil || len(list) != 4 || list[3].Reporter != "bob" {
		t.Errorf("%d reports are left of four, %v", len(list), err)
	}
}

// What is damaged is left out of an export, and the rest can be saved.
func TestExportLeavesDamageOut(t *testing.T) {
	a, b := open(t, pair), open(t, pair)
	for i := range 3 {
		voice{t: t, l: a, at: begin}.say(Spam, fmt.Sprint("r", i), message(i, i))
	}
	if err := a.commit(func(t *txn, _ *job) error {
		n, k := newNumber(1), signatureKey(message(1, 1).Signatures[0])
		return errors.Join(t.reports.Put(n[:], []byte("damaged")), t.tallies.Put(k[:], []byte{7}), t.reporters.Put([]byte("r2"), nil))
	}); err != nil {
		t.Fatal(err)
	}
	if sum := imported(t, b, from(exported(t, a), begin)); sum != (Imported{Reporters: 2, Reports: 1, Old: 1}) {
		t.Errorf("%+v", sum)
	}
}
