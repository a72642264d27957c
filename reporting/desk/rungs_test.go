package desk_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestRungsOfSome is the attack "rungs" by several reporters together, or by a fully trusted site
// and reporters. Each of them revokes the spam as often as possible. As long as fewer than three
// reporters take part beside one who takes all three revocations and one who takes the fourth, or beside the site, a
// report of somebody else lists the spam and its near-duplicates. Against more, an administrator does.
func TestRungsOfSome(t *testing.T) {
	for name, c := range map[string]struct {
		site      bool
		reporters int
		frozen    bool
	}{
		"two reporters":            {false, 2, false},
		"three reporters":          {false, 3, false},
		"four reporters":           {false, 4, false},
		"five reporters":           {false, 5, true},
		"a site":                   {true, 0, false},
		"a site and two reporters": {true, 2, false},
		"a site and three":         {true, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			j, m, near := join(t, trust.Default()), desktest.Letter(1, 0), desktest.Letter(1, 12)
			a := j.sites["a"]
			for range 5 * rungs { // the member ignores all shares
				if !c.site {
					break
				}
				testenv.Check(t, errors.Join(j.sites["b"].DB.Report(m, bloomdb.ClassOther), j.sites["b"].DB.Revoke(m)))
			}
			j.exchange("b", "a")
			a.WantListed("of the member", m, false)
			for by := range c.reporters {
				for range rungs {
					if !a.DB.Judge(m).Listed {
						if _, err := a.Report(desk.Report{Set: m, Reporter: fmt.Sprint("mallory", by)}); errors.Is(err, desk.ErrRevokedOften) {
							break
						} else if err != nil {
							t.Fatal(err)
						}
					}
					if _, err := a.Revoke(desk.Report{Set: m, Reporter: fmt.Sprint("mallory", by)}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
						t.Fatal(err)
					}
				}
			}
			a.MustReport("bert", m)
			a.WantListed("reported by somebody else", m, !c.frozen)
			a.WantListed("a near-duplicate", near, !c.frozen)
			if _, err := a.Settle(desk.Report{Set: m}, desk.SettleSpam, desk.Author{Name: "root"}); err != nil {
				t.Fatal(err)
			}
			a.WantListed("settled", m, true)
			a.WantListed("a near-duplicate of the settled one", near, true)
		})
	}
}

// One account reports and takes back a spam as often as it may, or copies of it, and takes back a copy of what another
// user reports. What further users of its site report, other sites list.
func TestOneEndsNoExchange(t *testing.T) {
	for name, copies := range map[string]int{"the same": 0, "copies": 1} {
		t.Run(name, func(t *testing.T) {
			j := join(t, trust.Default())
			a, b := j.sites["a"], j.sites["b"]
			attack := func(do func(desk.Report) (desk.Outcome, error), n int) {
				if _, err := do(desk.Report{Set: desktest.Texts(1, 148, 1000+copies*n, 2, ""), Reporter: "mallory"}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
					t.Fatal(err)
				}
				j.exchange("a", "b")
			}
			for i := range rungs {
				attack(a.Report, 2*i)
				attack(a.Revoke, 2*i+1)
			}
			a.MustReport("bert", desktest.Texts(1, 148, 2000, 2, ""))
			attack(a.Revoke, 100)
			a.MustReport("carla", desktest.Texts(1, 148, 3000, 2, ""))
			j.exchange("a", "b")
			b.WantListed("reported at another site", desktest.Texts(1, 148, 4000, 2, ""), true)
		})
	}
}

// Nor by revocations that wait for the listings of another site, of copies that differ at the end, or in eight words that
// stand elsewhere in each.
func TestWaitingEndsNoExchange(t *testing.T) {
	for name, copies := range map[string]func(n int) signature.Set{
		"at the end": func(n int) signature.Set { return desktest.Texts(1, 148, 1000+n, 2, "") },
		"elsewhere": func(n int) signature.Set {
			words, random := strings.Fields(desktest.LetterText(1, 0)), rand.New(rand.NewPCG(1, uint64(n)))
			for i, at := range random.Perm(len(words))[:8] {
				words[at] = fmt.Sprintf("%c%c%c%c", 'a'+n%26, 'b'+n/26, 'c'+i, 'z'-n%26)
			}
			return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + strings.Join(words, " "))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := join(t, trust.Default())
			a, b := j.sites["a"], j.sites["b"]
			for i := range rungs {
				b.MustRevoke("mallory", copies(i))
			}
			for i := range rungs {
				a.MustReport(fmt.Sprint("user", i), copies(i))
				j.exchange("a", "b")
				j.exchange("b", "a")
			}
			a.MustReport("anna", copies(100))
			j.exchange("a", "b")
			b.WantListed("reported at the other site", copies(200), true)
		})
	}
}

// Revocations of other mail between them, which revoke nothing, do not hide how often a reporter has revoked a file.
func TestHiddenRevocationsOfAFile(t *testing.T) {
	s := desktest.OpenJoined(t, desktest.Options(t.TempDir()), trust.Default())
	with := func(campaign int, files ...int) signature.Set {
		set := desktest.Letter(campaign, 0)
		for _, f := range files {
			set.Signatures = append(set.Signatures, signature.Signature{Kind: signature.KindAttachment, Digest: [32]byte{byte(f)}})
		}
		return set
	}
	files, refused := []int{1}, 0
	for i := range 4 {
		s.MustReport(fmt.Sprint("user", i), with(10+i, 1))
		files = append(files, 2+i)
		s.MustRevoke("mallory", with(20+i, 2+i)) // it waits
		if _, err := s.Revoke(desk.Report{Set: with(30+i, files...), Reporter: "mallory"}); errors.Is(err, desk.ErrRevokedOften) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d of 4 revocations are refused, want the last", refused)
	}
}

// TestRungsOfAFile is the attack "rungs" against malware: two reporters report and revoke invented
// messages, each with the file of the malware. Another one's report still lists all mail with the file.
func TestRungsOfAFile(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000 // else a reporter's share ends first
	s := desktest.Open(t, o, trust.Default())
	with := func(campaign int) signature.Set {
		m := desktest.Letter(campaign, 0)
		m.Signatures = append(m.Signatures, signature.Signature{Kind: signature.KindAttachment, Digest: [32]byte{1}})
		return m
	}
	for i := range 2 * rungs {
		m, who := with(1000+i), fmt.Sprint("mallory", i%2)
		s.MustReport(who, m)
		if _, err := s.Revoke(desk.Report{Set: m, Reporter: who}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
			t.Fatal(err)
		}
	}
	if n := s.DB.Revocations(signature.Set{Signatures: with(0).Signatures[2:]}); n != 4 {
		t.Errorf("the file was revoked %d times, want 4", n)
	}
	s.MustReport("bert", with(1))
	s.WantListed("other mail with the file", with(2), true)
}

// TestRungsOfOne is the attack "rungs": one reporter reports and revokes a spam, or its
// near-duplicates in turn, until the period has no rung left, and nobody could list it. The fifth
// revocation is refused, with the reporter's name, and reports of others list the spam.
func TestRungsOfOne(t *testing.T) {
	for name, letter := range map[string]func(i int) signature.Set{
		"the same":        func(int) signature.Set { return desktest.Letter(1, 0) },
		"near-duplicates": func(i int) signature.Set { return desktest.Letter(1, i/2) },
	} {
		t.Run(name, func(t *testing.T) {
			o := desktest.Options(t.TempDir())
			o.Reports.Capacity = 100_000 // else a reporter's share ends first
			s := desktest.Open(t, o, trust.Default())
			for i := range rungs + 2 {
				say, text := s.Report, "reports by mallory of this message"
				if i%2 == 1 {
					say, text = s.Revoke, "mallory has taken the 4 revocations"
				}
				if _, err := say(desk.Report{Set: letter(i), Reporter: "mallory"}); err != nil && (!errors.Is(err, desk.ErrRevokedOften) || !strings.Contains(err.Error(), text)) {
					t.Fatalf("word %d: %v", i, err)
				}
			}
			if n := s.DB.Revocations(letter(0)); n != 4 {
				t.Errorf("%d revocations had an effect, want 4", n)
			}
			if m := letter(0); !s.MustReport("bert", m).Evidence.Listed {
				t.Error("bert's report does not list it")
			}
			if o := s.MustRevoke("carla", letter(0)); o.Evidence.Listed {
				t.Errorf("carla's revocation: %+v", o)
			}
			s.MustReport("dora", letter(0))
			s.WantListed("reported again", letter(0), true)
			s.WantListed("a near-duplicate", desktest.Letter(1, 12), true)
		})
	}
}

// One account reports a newsletter, its issues or copies, or mails with its file, as often as another reader takes that
// back, or one of three does. The third report lists nothing, so that the readers' revocations suffice.
func TestOneReportsAgain(t *testing.T) {
	file := func(set signature.Set) signature.Set {
		set.Signatures = append(set.Signatures, signature.Signature{Kind: signature.KindAttachment, Digest: [32]byte{1}})
		return set
	}
	copyOf := func(n int) signature.Set { return desktest.Letter(1, n) }
	for name, c := range map[string]struct {
		readers          int
		reported, wanted func(i int) signature.Set
	}{
		"the same":        {1, func(int) signature.Set { return copyOf(0) }, func(int) signature.Set { return copyOf(0) }},
		"issues":          {1, copyOf, copyOf},
		"copies":          {1, copyOf, func(i int) signature.Set { return copyOf(100 + i) }},
		"of three people": {3, copyOf, func(i int) signature.Set { return copyOf(100 + i) }},
		"by a file":       {1, func(i int) signature.Set { return file(desktest.Letter(100+i, 0)) }, func(i int) signature.Set { return file(desktest.Letter(1+i, 0)) }},
	} {
		t.Run(name, func(t *testing.T) {
			o := desktest.Options(t.TempDir())
			o.Reports.Capacity = 100_000 // else a reporter's share ends first
			s := desktest.Open(t, o, trust.Default())
			for i := range 9 {
				if _, err := s.Report(desk.Report{Set: c.reported(i), Reporter: "mallory"}); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
					t.Fatal(err)
				}
				for r := range c.readers {
					if m := c.wanted(10*i + r); s.DB.Judge(m).Listed {
						s.MustRevoke(fmt.Sprint("reader", r), m)
						s.WantListed(fmt.Sprint("revoked ", i), m, false)
					}
				}
			}
			for i := range 9 {
				s.WantListed("a later one", c.wanted(200+i), false)
			}
		})
	}
}

// A spam that several report is revoked each time by one account. None of them is refused for that.
func TestManyReportAgain(t *testing.T) {
	s, spam := desktest.New(t, trust.Default(), 0), desktest.Letter(1, 0)
	for range 4 {
		for i := range 3 {
			s.MustReport(fmt.Sprint("user", i), spam)
		}
		s.MustRevoke("mallory", spam)
	}
	for i := range 3 {
		s.MustReport(fmt.Sprint("user", i), spam)
	}
	s.WantListed("the spam", spam, true)
}

// Reports of other mails with the same footer, that were taken back, do not keep a reporter from reporting a spam with it
// that others have reported and revoked.
func TestFooterRefusesNoReport(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000 // else a reporter's share ends first
	s := desktest.Open(t, o, trust.Default())
	with := func(n int) signature.Set { return desktest.Texts(1, 24, n, 60, "") }
	for i := range 3 {
		s.MustReport(fmt.Sprint("user", i), with(99))
		s.MustRevoke(fmt.Sprint("accomplice", i), with(99))
		s.MustReport("anna", with(10+i))
		s.MustRevoke("reader", with(10+i))
	}
	s.MustReport("anna", with(99))
	s.WantListed("the spam", with(99), true)
}

// A user has reported other spam with the file of a spam, and nobody took that back. One account revokes copies of the
// spam. The user's report lists it with its sketch nevertheless.
func TestChainTakesNoSketch(t *testing.T) {
	s, file := desktest.New(t, trust.Default(), 0), desktest.Set("body", "text", "file").Signatures[2]
	with := func(campaign, copy int) signature.Set {
		set := desktest.Letter(campaign, copy)
		set.Signatures = append(set.Signatures, file)
		return set
	}
	for i := range 2 {
		s.MustReport("anna", with(2+i, 0))
		s.MustReport(fmt.Sprint("user", i), desktest.Letter(1, 5*i))
		s.MustRevoke("mallory", desktest.Letter(1, 5*i))
	}
	s.MustReport("anna", with(1, 20))
	s.WantListed("a near-duplicate", desktest.Letter(1, 40), true)
}

// Revocations by an account that was undone refuse no report. It does not matter whether somebody contradicted them before
// the undo.
func TestUndoneRevocationsRefuseNoReport(t *testing.T) {
	s, spam := desktest.New(t, trust.Default(), 0), desktest.Letter(1, 0)
	for range 2 {
		s.MustReport("anna", spam)
		s.MustRevoke("mallory", spam)
	}
	s.MustReport("carl", spam)
	if _, err := s.Undo(api.UndoRequest{By: "mallory", Since: desktest.Noon.AddDate(0, 0, -1)}, desk.Author{}); err != nil {
		t.Fatal(err)
	}
	s.MustRevoke("carl", spam)
	s.MustReport("anna", spam)
	s.WantListed("a near-duplicate", desktest.Letter(1, 12), true)
}

// TestRungsOfOneProgram is the attack "rungs" by users of one program, who want to keep a letter listed
// against its other users: after their six revocations, none of them can report it. Somebody
// else on the machine can, and another user, too, can revoke that.
func TestRungsOfOneProgram(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000 // else a reporter's share ends first
	s, m := desktest.Open(t, o, trust.Default()), desktest.Letter(1, 0)
	mailbox := desk.Origin{UID: 997, Known: true}
	for i := range 6 {
		who := fmt.Sprint("mallory", min(i/2, 1)+max(i-3, 0)) // two twice, and two once
		if _, err := s.Report(desk.Report{Set: m, Reporter: who, Origin: mailbox}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Revoke(desk.Report{Set: m, Reporter: who, Origin: mailbox}); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"mallory0", "mallory9"} {
		if _, err := s.Report(desk.Report{Set: m, Reporter: who, Origin: mailbox}); !errors.Is(err, desk.ErrRevokedOften) || !strings.Contains(err.Error(), "unix:997 has taken the 6") {
			t.Errorf("%s reports it once more: %v", who, err)
		}
	}
	s.WantListed("contested by one program", m, false)
	s.MustReport("bert", m)
	s.WantListed("reported in another way", m, true)
	if _, err := s.Revoke(desk.Report{Set: m, Reporter: "anna", Origin: mailbox}); !errors.Is(err, desk.ErrRevokedOften) {
		t.Errorf("the program's seventh revocation: %v", err)
	}
	s.MustRevoke("carla", m)
	s.WantListed("revoked in another way", m, false)
}

// TestRungsBesideManyReports is the attack "rungs" against a spam that many users report after each
// revocation: the ledger forgets their reports before the revocations.
func TestRungsBesideManyReports(t *testing.T) {
	for name, c := range map[string]struct {
		by   func(i int) desk.Report
		most int
	}{
		"two reporters": {func(i int) desk.Report { return desk.Report{Reporter: fmt.Sprint("mallory", i%2)} }, 4},
		"users of one program": {func(i int) desk.Report {
			return desk.Report{Reporter: fmt.Sprint("mallory", i), Origin: desk.Origin{UID: 997, Known: true}}
		}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o, m := desktest.Options(t.TempDir()), trust.Default()
			o.Reports.Capacity = 100_000 // else a reporter's share ends first
			m.Floor = 1
			s, spam, revoked := desktest.Open(t, o, m), desktest.Letter(1, 0), 0
			for i := range rungs {
				for j := range 8 {
					s.MustReport(fmt.Sprint("user", i*8+j), spam)
				}
				r := c.by(i)
				r.Set = spam
				switch _, err := s.Revoke(r); {
				case err == nil:
					revoked++
				case !errors.Is(err, desk.ErrRevokedOften):
					t.Fatal(err)
				}
			}
			if revoked != c.most {
				t.Errorf("%d revocations were accepted, want %d", revoked, c.most)
			}
			s.MustReport("bert", spam)
			s.WantListed("reported again", spam, true)
			s.WantListed("a near-duplicate", desktest.Letter(1, 12), true)
		})
	}
}

// Two users of one program take back a newsletter's reports, which list nothing, as often as they may. What
// they list by reports of it, or of another message with its file, the program's other users can revoke.
func TestRevocationsWithoutEffect(t *testing.T) {
	mailbox, file := desk.Origin{UID: 34, Known: true}, desktest.Set("body", "text", "file").Signatures[2]
	letter := func(campaign int) signature.Set {
		set := desktest.Letter(campaign, 0)
		set.Signatures = append(set.Signatures, file)
		return set
	}
	for name, c := range map[string]struct {
		model trust.Model
		taken func(i int) signature.Set
	}{
		"held":               {trust.Default(), func(int) signature.Set { return letter(1) }},
		"below the quorum":   {desktest.TwoNeeded, func(int) signature.Set { return letter(1) }},
		"the file of others": {desktest.TwoNeeded, func(i int) signature.Set { return letter(2 + i) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, newsletter := desktest.OpenHolding(t, c.model, 20), letter(1)
			for i := range 40 {
				s.Deliver(uint64(i), 1, newsletter)
			}
			say := func(do func(desk.Report) (desk.Outcome, error), who string, set signature.Set) error {
				_, err := do(desk.Report{Set: set, Reporter: who, Origin: mailbox})
				return err
			}
			for i := range 8 {
				who := fmt.Sprint("mallory", i%2)
				for _, do := range []func(desk.Report) (desk.Outcome, error){s.Report, s.Revoke} {
					if err := say(do, who, c.taken(i)); err != nil && !errors.Is(err, desk.ErrRevokedOften) {
						t.Fatal(err)
					}
				}
			}
			s.WantListed("reported and taken back", newsletter, false)
			for i := range 4 {
				testenv.Check(t, say(s.Report, fmt.Sprint("trudy", i), newsletter))
			}
			s.WantListed("reported by more", newsletter, true)
			for i := range int(c.model.Quorum) {
				testenv.Check(t, say(s.Revoke, fmt.Sprint("anna", i), newsletter))
			}
			s.WantListed("revoked by others of the program", newsletter, false)
		})
	}
}

// A sender sends a newsletter to a trap again after a user has revoked it. The trap does not list it or its
// near-duplicates again in that period, and the user keeps its weight. A user can report the newsletter again, and
// the trap can list other mail that has a part of it.
func TestTrapAgainstRevocations(t *testing.T) {
	s, mailbox := desktest.New(t, trust.Default(), 0), desk.Origin{UID: 34, Known: true}
	file := desktest.Set("body", "text", "file").Signatures[2]
	newsletter := desktest.Letter(1, 0)
	newsletter.Signatures = append(newsletter.Signatures, file)
	send := func(set signature.Set) error {
		_, err := s.Report(desk.Report{Set: set, Reporter: desk.TrapReporter("lure"), Trap: true})
		return err
	}
	testenv.Check(t, send(newsletter))
	s.WantListed("sent to the trap", newsletter, true)
	if _, err := s.Revoke(desk.Report{Set: newsletter, Reporter: "anna", Origin: mailbox}); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if err := send(desktest.Letter(1, i%3)); !errors.Is(err, desk.ErrRevokedOften) {
			t.Errorf("copy %d to the trap: %v", i, err)
		}
		s.WantListed(fmt.Sprint("after copy ", i), newsletter, false)
	}
	other := desktest.Letter(2, 0)
	other.Signatures = append(other.Signatures, file)
	testenv.Check(t, send(other))
	s.WantListed("other mail with its file", other, true)
	s.WantListed("the newsletter with that file", newsletter, false)
	s.MustReport("anna", desktest.Letter(3, 0))
	s.WantListed("what the one who revoked reports", desktest.Letter(3, 0), true)
	s.MustReport("bert", newsletter)
	s.WantListed("what a user reports again", newsletter, true)
	s.MustRevoke("anna", newsletter)
	s.Clock.Add(int64(7 * 24 * time.Hour / time.Second))
	testenv.Check(t, send(newsletter))
	s.WantListed("in a later period", newsletter, true)
}
