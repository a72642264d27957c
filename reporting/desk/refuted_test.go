package desk_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// A revocation that counts no longer has refuted nobody, however it came to that: taken back by its reporter,
// overruled by others, repeated later, undone before another one, or settled the other way. Otherwise one
// account takes the weight of all who report spam for a month, and undo lists nothing again.
func TestRevocationThatCountsNoLonger(t *testing.T) {
	const users = 10
	root := desk.Author{Name: "root"}
	undo := func(s *desktest.Stage, who string) {
		if _, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.AddDate(0, 0, -1)}, root); err != nil {
			t.Fatal(err)
		}
	}
	for name, play := range map[string]func(s *desktest.Stage, spam []signature.Set){
		"taken back": func(s *desktest.Stage, spam []signature.Set) {
			for _, set := range spam {
				s.MustRevoke("mallory", set)
			}
			for _, set := range spam {
				s.MustReport("mallory", set)
			}
		},
		"taken back, then undone": func(s *desktest.Stage, spam []signature.Set) {
			for _, set := range spam {
				s.MustRevoke("mallory", set)
				s.MustReport("mallory", set)
			}
			undo(s, "mallory")
		},
		"overruled": func(s *desktest.Stage, spam []signature.Set) {
			for i, set := range spam {
				s.MustRevoke("mallory", set)
				s.MustReport(fmt.Sprint("other", i), set)
			}
			undo(s, "mallory")
		},
		"by two, undone in their order": func(s *desktest.Stage, spam []signature.Set) {
			for _, set := range spam {
				s.MustRevoke("mallory", set)
				s.MustRevoke("trudy", set)
			}
			undo(s, "mallory")
			undo(s, "trudy")
		},
		"by two, undone in the other order": func(s *desktest.Stage, spam []signature.Set) {
			for _, set := range spam {
				s.MustRevoke("mallory", set)
				s.MustRevoke("trudy", set)
			}
			undo(s, "trudy")
			undo(s, "mallory")
		},
		"settled the other way": func(s *desktest.Stage, spam []signature.Set) {
			for _, set := range spam {
				for _, as := range []string{desk.SettleWanted, desk.SettleSpam} {
					if _, err := s.Settle(desk.Report{Set: set}, as, root); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := desktest.Options(t.TempDir())
			o.Reports.Capacity = 100_000 // else a reporter's share ends first
			s := desktest.Open(t, o, trust.Default())
			var spam []signature.Set
			for i := range 2 * users {
				spam = append(spam, desktest.Letter(1+i, 0))
				s.MustReport(fmt.Sprint("user", i/2), spam[i])
			}
			play(s, spam)
			for i, set := range spam {
				s.WantListed(fmt.Sprint("spam ", i), set, true)
			}
			for i := range users {
				set := desktest.Letter(100+i, 0)
				s.MustReport(fmt.Sprint("user", i), set)
				s.WantListed(fmt.Sprint("a new report of user ", i), set, true)
			}
		})
	}
}

// Nor does one account take the weight of many who have reported the same spam, of whom the ledger remembers few.
func TestRevocationAgainstMany(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000
	s, spam := desktest.Open(t, o, trust.Default()), []signature.Set{desktest.Letter(1, 0), desktest.Letter(2, 0)}
	const users = 50
	for i := range users {
		for _, set := range spam {
			s.MustReport(fmt.Sprint("user", i), set)
		}
	}
	for _, set := range spam {
		s.MustRevoke("mallory", set)
		s.MustReport("mallory", set)
	}
	if _, err := s.Undo(api.UndoRequest{By: "mallory", Since: desktest.Noon.AddDate(0, 0, -1)}, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	for i, set := range spam {
		s.WantListed(fmt.Sprint("spam ", i), set, true)
	}
	for i := range users {
		set := desktest.Letter(100+i, 0)
		s.MustReport(fmt.Sprint("user", i), set)
		s.WantListed(fmt.Sprint("a new report of user ", i), set, true)
	}
}
