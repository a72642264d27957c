package desk_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/reporting/why"
	"github.com/spambloom/spambloom/signature"
)

// voting is a site at which two others vote.
type voting struct {
	*desktest.Stage
	t      testing.TB
	voters []*bloomdb.DB
}

func openVoting(t testing.TB) voting {
	o := desktest.Options(t.TempDir())
	o.Site, o.Exchange, o.Members = "a", true, wire.Members{}
	v := voting{t: t}
	for _, site := range []string{"v1", "v2"} {
		o.Members[site] = wire.Member{Trust: wire.TrustVote}
		of := desktest.Options(t.TempDir())
		of.Site = site
		db, err := bloomdb.Open(of)
		testenv.Check(t, err)
		t.Cleanup(func() { testenv.Check(t, db.Close()) })
		v.voters = append(v.voters, db)
	}
	v.Stage = desktest.OpenJoined(t, o, trust.Default())
	return v
}

// vote lets the first n voters report a message. The site receives their votes.
func (v voting) vote(set signature.Set, n int) {
	v.t.Helper()
	v.Clock.Add(1)
	for _, voter := range v.voters[:n] {
		testenv.Check(v.t, voter.Report(set, bloomdb.ClassOther))
		votes, _, err := voter.Votes()
		testenv.Check(v.t, err)
		testenv.Check(v.t, v.DB.ApplyVotes(votes))
	}
	testenv.Check(v.t, v.ActOnWaiting())
}

// A revocation that waits acts on a listing by votes, once there are enough of them.
func TestWaitingForVotes(t *testing.T) {
	v, wanted, other := openVoting(t), desktest.Letter(1, 0), desktest.Letter(2, 0)
	if o := v.MustRevoke("anna", wanted); o.Waits.IsZero() {
		t.Fatalf("it does not wait: %+v", o)
	}
	v.vote(wanted, 1)
	if v.DB.IsRevoked(wanted) {
		t.Error("it acts on one vote, which lists nothing")
	}
	v.vote(other, 2)
	v.vote(wanted, 2)
	v.WantListed("what nobody revoked", other, true)
	v.WantListed("what anna revoked", wanted, false)
	v.MustReport("bert", wanted)
	v.WantListed("reported since", wanted, true)
}

// The undo of revocations of what only votes list makes no report of this site: it stays revoked until somebody
// reports it. That goes for those that waited, too.
func TestUndoOfRevocationOfVotes(t *testing.T) {
	for name, waits := range map[string]bool{"revoked at once": false, "waited": true} {
		t.Run(name, func(t *testing.T) {
			v, m := openVoting(t), desktest.Letter(1, 0)
			if waits {
				v.MustRevoke("carl", m)
			}
			v.vote(m, 2)
			if !waits {
				v.MustRevoke("carl", m)
			}
			v.WantListed("revoked", m, false)
			done, err := v.Undo(api.UndoRequest{By: "carl", Since: desktest.Noon.Add(-time.Hour)}, desk.Author{})
			if want := (api.Undone{Revocations: 1, Standing: 1}); err != nil || done != want {
				t.Errorf("undo: %+v, %v; want %+v", done, err, want)
			}
			v.WantListed("undone", m, false)
			v.WantListed("a near-duplicate", desktest.Letter(1, 3), false)
			if v.DB.IsReported(m) {
				t.Error("the votes are a report of this site")
			}
			v.MustReport("anna", m)
			v.WantListed("reported here", m, true)
		})
	}
}

// A message that was settled as wanted is not explained as one on the never-list, whether votes or reports list it later.
func TestExplainSettled(t *testing.T) {
	for name, wanted := range map[string]string{"votes": "revoked; no report lists it", "reports": "reported, but settled or declared as wanted here"} {
		t.Run(name, func(t *testing.T) {
			v, m := openVoting(t), desktest.Letter(1, 0)
			_, err := v.Settle(desk.Report{Set: m}, desk.SettleWanted, desk.Author{Name: "root"})
			testenv.Check(t, err)
			if name == "votes" {
				v.vote(m, 2)
			} else {
				testenv.Check(t, v.DB.Report(m, bloomdb.ClassOther))
			}
			x, _ := v.Explain(m, "")
			for _, s := range x.Signatures {
				if got := why.Standing(&x, s); got != wanted {
					t.Errorf("%s: %q, want %q", s.ID, got, wanted)
				}
			}
		})
	}
}
