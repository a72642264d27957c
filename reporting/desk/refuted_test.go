package desk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// weigh sets a reporter's weight, and undo undoes what one has said since a time; both as root.
func weigh(t *testing.T, s *desktest.Stage, who string, weight float64) {
	t.Helper()
	_, err := s.SetWeight(api.WeightRequest{Name: who, Weight: &weight}, desk.Author{Name: "root"})
	testenv.Check(t, err)
}

func undo(t *testing.T, s *desktest.Stage, who string, since time.Time) {
	t.Helper()
	_, err := s.Undo(api.UndoRequest{By: who, Since: since}, desk.Author{Name: "root"})
	testenv.Check(t, err)
}

// Undo gives the reports that bad revocations refuted back, and the weight of their reporters, in whatever order
// those who revoked them are undone, and if they repeated it later.
func TestUndoOfRevocations(t *testing.T) {
	const users = 10
	for name, c := range map[string]struct {
		undone   []string
		repeated bool
	}{
		"in their order":        {[]string{"mallory", "trudy"}, false},
		"in the other order":    {[]string{"trudy", "mallory"}, false},
		"repeated by one later": {[]string{"mallory"}, true},
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
			since, revokers := s.DB.Now(), slices.Sorted(slices.Values(c.undone))
			if c.repeated {
				revokers = append(revokers, "mallory")
			}
			for i, who := range revokers {
				if c.repeated && i > 0 {
					s.Clock.Add(int64(8 * 24 * time.Hour / time.Second))
				}
				for _, set := range spam {
					s.MustRevoke(who, set)
				}
			}
			for _, who := range c.undone {
				undo(t, s, who, since)
			}
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

// Undo of one who revoked a newsletter, and the revocation's repetition in the next period, list nothing as long as
// others stand by it, nor does a report without weight then.
func TestUndoBesideOthersWhoRevoked(t *testing.T) {
	for name, repeated := range map[string]bool{"undone": false, "repeated": true} {
		t.Run(name, func(t *testing.T) {
			s, newsletter := desktest.New(t, trust.Default(), 0), desktest.Letter(1, 0)
			weigh(t, s, "nobody", 0)
			since := s.DB.Now()
			s.MustReport("mallory", newsletter)
			for _, who := range []string{"anna", "bert", "carla"} {
				s.MustRevoke(who, newsletter)
			}
			if repeated {
				s.Clock.Add(int64(8 * 24 * time.Hour / time.Second))
				s.MustRevoke("anna", newsletter)
			} else {
				undo(t, s, "anna", since)
			}
			s.WantListed("before a report", newsletter, false)
			s.MustReport("nobody", newsletter)
			s.WantListed("reported without weight", newsletter, false)
		})
	}
}

// One account revokes two campaigns that all have reported, and reports them again, or not. Nobody loses weight, and after
// its undo the campaigns are listed.
func TestOneTakesNobodysWeight(t *testing.T) {
	const users = 10
	for name, reverses := range map[string]bool{"revokes": false, "and reports them": true} {
		t.Run(name, func(t *testing.T) {
			s := desktest.New(t, trust.Default(), 0)
			since, spam := s.DB.Now(), []signature.Set{desktest.Letter(1, 0), desktest.Letter(2, 0), desktest.Letter(3, 0)}
			for _, set := range spam {
				for i := range users {
					s.MustReport(fmt.Sprint("user", i), set)
				}
				s.MustRevoke("mallory", set)
				if reverses {
					s.MustReport("mallory", set)
				}
			}
			for i := range users {
				set := desktest.Letter(100+i, 0)
				s.MustReport(fmt.Sprint("user", i), set)
				s.WantListed(fmt.Sprint("a new report of user ", i), set, true)
			}
			undo(t, s, "mallory", since)
			for i, set := range spam {
				s.WantListed(fmt.Sprint("campaign ", i), set, true)
			}
		})
	}
}

// A reporter who weighs little because of mistakes does not repeat what this site's reporters decided, and another site
// has contradicted since: neither at once nor when the mistakes have begun to fade.
func TestLittleWeightRepeatsNothing(t *testing.T) {
	for _, after := range []time.Duration{0, 2 * time.Hour, 72 * time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			j, news := join(t, trust.Default()), desktest.Letter(3, 0)
			a, b := j.sites["a"], j.sites["b"]
			for i, reader := range []string{"dora", "emil"} {
				a.MustReport("irc", desktest.Letter(1+i, 0))
				a.MustRevoke(reader, desktest.Letter(1+i, 0))
			}
			for _, s := range j.sites {
				s.Clock.Add(int64(after / time.Second))
			}
			a.MustReport("anna", news)
			j.exchange("a", "b")
			b.MustRevoke("bob", news)
			j.exchange("b", "a")
			if o := a.MustReport("irc", news); !o.RevokedUntil.IsZero() || o.Holds != "It is still not spam." {
				t.Errorf("with little weight: %+v", o)
			}
			j.exchange("a", "b")
			for _, s := range j.sites {
				s.WantListed("revoked at the other site", news, false)
			}
			a.MustReport("carl", news)
			a.WantListed("reported by one with weight", news, true)
		})
	}
}

// A report without weight is not said to be without effect because the message was revoked too often: it was revoked
// once, at another site, and another reporter lists it.
func TestAnswerWithoutWeight(t *testing.T) {
	j, m := join(t, trust.Default()), desktest.Letter(1, 0)
	a, b := j.sites["a"], j.sites["b"]
	weigh(t, a, "irc", 0)
	a.MustReport("anna", m)
	j.exchange("a", "b")
	b.MustRevoke("bob", m)
	j.exchange("b", "a")
	if o := a.MustReport("irc", m); !o.RevokedUntil.IsZero() || o.Quorum != 0 || o.Holds != "It is still not spam." {
		t.Errorf("without weight: %+v", o)
	}
	if o := a.MustReport("carl", m); !o.Evidence.Listed || !strings.HasPrefix(o.Holds, "It is spam here from now on") {
		t.Errorf("another reporter: %+v", o)
	}
}
