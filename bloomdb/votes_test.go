package bloomdb_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// listener opens a site that gives others the trust "vote".
func listener(t testing.TB, c *bloomdbtest.Clock, voters ...string) *bloomdb.DB {
	t.Helper()
	return bloomdbtest.Open(t, listenerOptions(t.TempDir(), c, voters...))
}

func listenerOptions(dir string, c *bloomdbtest.Clock, voters ...string) bloomdb.Options {
	o := bloomdbtest.Options(dir, "here")
	o.Now, o.Members = c.Now, wire.Members{"friend": {}}
	for _, site := range voters {
		o.Members[site] = wire.Member{Trust: wire.TrustVote}
	}
	return o
}

// member opens a site that votes.
func member(t testing.TB, c *bloomdbtest.Clock, site string) *bloomdb.DB {
	t.Helper()
	o := bloomdbtest.Options(t.TempDir(), site)
	o.Now = c.Now
	return bloomdbtest.Open(t, breakable(o))
}

func mustVotes(t testing.TB, db *bloomdb.DB) []byte {
	t.Helper()
	data, _, err := db.Votes()
	testenv.Check(t, err)
	return data
}

func mustApplyVotes(t testing.TB, db *bloomdb.DB, from ...*bloomdb.DB) {
	t.Helper()
	for _, site := range from {
		testenv.Check(t, db.ApplyVotes(mustVotes(t, site)))
	}
}

// Two sites with TrustVote list messages on which their current votes agree. One alone lists
// nothing, and a revocation at one of them withdraws its vote.
func TestVotesList(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a, b := listener(t, c, "a", "b"), member(t, c, "a"), member(t, c, "b")
	step := func(what string, n, votes int, listed bool) {
		t.Helper()
		mustApplyVotes(t, here, a, b)
		e := here.Judge(bloomdbtest.Message(n))
		if e.Votes != votes || e.Listed != listed {
			t.Errorf("%s: %d votes, listed %v; want %d, %v", what, e.Votes, e.Listed, votes, listed)
		}
	}
	step("nobody reported it", 1, 0, false)
	bloomdbtest.Report(t, a, 1)
	c.Add(time.Second)
	step("one site did", 1, 1, false)
	bloomdbtest.Report(t, b, 1)
	c.Add(time.Second)
	step("both did", 1, 2, true)
	step("another message", 2, 0, false)
	e := here.Judge(bloomdbtest.Message(1))
	if m := e.Matches[0]; len(e.Matches) != 1 || !m.Votes || m.Revoked || !slices.Equal(m.Sites, []string{"a", "b"}) || e.Sites != 2 ||
		m.Signature.Kind != signature.KindText {
		t.Errorf("evidence %+v", e)
	}
	bloomdbtest.Revoke(t, b, 1)
	step("revoked at one", 1, 1, false)
	bloomdbtest.Report(t, b, 1)
	c.Add(time.Second)
	step("reported again in the same period", 1, 2, true)
	bloomdbtest.Revoke(t, b, 1)
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, b, 1)
	step("reported again in the next period", 1, 2, true)
}

// A fully trusted site lists messages alone. Its revocations override votes, like those of this
// site. So do retouches and the never-list.
func TestVotesGiveWay(t *testing.T) {
	c := bloomdbtest.NewClock()
	a, b, friend := member(t, c, "a"), member(t, c, "b"), member(t, c, "friend")
	for n := range 5 {
		bloomdbtest.Report(t, a, n)
		bloomdbtest.Report(t, b, n)
	}
	here := listener(t, c, "a", "b")
	mustApplyVotes(t, here, a, b)

	bloomdbtest.Report(t, here, 1)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 2 || slices.ContainsFunc(e.Matches, func(m bloomdb.Match) bool { return m.Votes }) {
		t.Errorf("listed without votes: %+v", e)
	}
	testenv.Check(t, here.Revoke(bloomdbtest.Message(2)))
	bloomdbtest.Revoke(t, friend, 3)
	bloomdbtest.Apply(t, here, bloomdbtest.Drain(t, friend)...)
	c.Add(168 * time.Hour) // votes have no generation: every kept revocation counts
	for n, want := range map[int]bool{0: true, 1: true, 2: false, 3: false} {
		if e := here.Judge(bloomdbtest.Message(n)); e.Votes != 2 || e.Listed != want {
			t.Errorf("message %d: %d votes, listed %v; want %v", n, e.Votes, e.Listed, want)
		}
	}
	if e := here.Judge(bloomdbtest.Message(3)); len(e.Matches) != 1 || !e.Matches[0].Revoked || e.Sites != 0 {
		t.Errorf("revoked: %+v", e)
	}
	if _, err := here.Retouch(bloomdbtest.Message(1)); err != nil {
		t.Fatal(err)
	}
	if e := here.Judge(bloomdbtest.Message(1)); e.Listed || e.Votes != 2 {
		t.Errorf("retouched: %+v", e)
	}
	if _, err := here.Never(bloomdbtest.Message(4), "newsletter"); err != nil {
		t.Fatal(err)
	}
	if e := here.Judge(bloomdbtest.Message(4)); e.Listed || !e.Never || len(e.Spared) != 1 || e.Sites != 0 {
		t.Errorf("on the never-list: %+v", e)
	}
}

// The match names the best key: the text, or the body if the sites that vote have only that.
func TestVotesByTextOrBody(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a, b := listener(t, c, "a", "b"), member(t, c, "a"), member(t, c, "b")
	sig := func(kind signature.Kind, name string) signature.Signature {
		return signature.Signature{Kind: kind, Digest: signature.Sum(kind, []byte(name))}
	}
	body, text := sig(signature.KindBody, "x"), sig(signature.KindText, "x")
	file := sig(signature.KindAttachment, "x")
	whole := signature.Set{Signatures: []signature.Signature{body, text, file}}
	for _, db := range []*bloomdb.DB{a, b} {
		testenv.Check(t, db.Report(whole, layout.ClassOther))
	}
	mustApplyVotes(t, here, a, b)
	for _, tc := range []struct {
		name string
		keys []signature.Signature
		want signature.Kind // 0: not listed
	}{
		{"the message", whole.Signatures, signature.KindText},
		{"the same text in another body", []signature.Signature{sig(signature.KindBody, "y"), text}, signature.KindText},
		{"a body whose text is not signed", []signature.Signature{body}, signature.KindBody},
		{"the attachment with another text", []signature.Signature{sig(signature.KindBody, "y"), sig(signature.KindText, "y"), file}, 0},
		{"the attachment alone", []signature.Signature{file}, 0},
	} {
		e := here.Judge(signature.Set{Signatures: tc.keys})
		if e.Listed != (tc.want != 0) || e.Listed && e.Matches[0].Signature.Kind != tc.want {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
	x := here.Explain(whole)
	for i, want := range []int{2, 2, 0} {
		if got := x[i].Votes; len(got) != want || want > 0 && (got[0].Site != "a" || got[0].Stale || !got[0].Made.Equal(c.Now())) {
			t.Errorf("votes by %s: %+v", x[i].Signature.Kind, got)
		}
	}
}

// Votes expire: those of an active site at the end of the period after the report's, those of
// an inactive one a period later.
func TestVotesEnd(t *testing.T) {
	const period = 168 * time.Hour
	c := bloomdbtest.NewClock()
	here, a, b := listener(t, c, "a", "b"), member(t, c, "a"), member(t, c, "b")
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Report(t, b, 1)
	mustApplyVotes(t, here, a, b)
	for i, want := range []struct{ silent, going int }{{2, 2}, {2, 2}, {0, 0}} {
		if e := here.Judge(bloomdbtest.Message(1)); e.Votes != want.silent {
			t.Errorf("%d periods later: %d votes of inactive sites, want %d", i, e.Votes, want.silent)
		}
		other := listener(t, c, "a", "b")
		mustApplyVotes(t, other, a, b)
		if e := other.Judge(bloomdbtest.Message(1)); e.Votes != want.going {
			t.Errorf("%d periods later: %d votes, want %d", i, e.Votes, want.going)
		}
		c.Add(period)
	}
}

// The stamp changes with each report and revocation, and when the next filter is published, but
// not otherwise. It survives a restart.
func TestVotesStamp(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	last := uint64(0)
	step := func(what string, changed bool) {
		t.Helper()
		_, stamp, err := db.Votes()
		if err != nil || stamp != db.VotesStamp() || changed != (stamp > last) || !changed && stamp != last {
			t.Errorf("%s: stamp %d after %d, %v", what, stamp, last, err)
		}
		last = stamp
	}
	step("new", true)
	step("nothing happened", false)
	bloomdbtest.Report(t, db, 1)
	step("report", true)
	bloomdbtest.Report(t, db, 1)
	step("a report at the same moment", true)
	bloomdbtest.Revoke(t, db, 1)
	step("revocation", true)
	c.Add(time.Hour)
	bloomdbtest.Count(t, db, 1, 5)
	step("a count and an hour", false)
	testenv.Check(t, db.Close())
	if _, _, err := db.Votes(); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	db = bloomdbtest.Open(t, o)
	if db.VotesStamp() < last {
		t.Errorf("stamp %d after the restart, %d before", db.VotesStamp(), last)
	}
	last = db.VotesStamp()
	c.Add(168 * time.Hour)
	step("next period", true)
	step("the same period", false)
}

// Unacceptable records are rejected with an error that names them, and change nothing.
func TestApplyVotesRefuses(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a := listener(t, c, "a", "b"), member(t, c, "a")
	bloomdbtest.Report(t, a, 1)
	good := mustVotes(t, a)
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Now, o.Reports.Period = c.Now, 24*time.Hour
	daily := bloomdbtest.Open(t, o)
	o = bloomdbtest.Options(t.TempDir(), "a")
	o.Now, o.Key = c.Now, [32]byte{9}
	foreign := bloomdbtest.Open(t, o)
	ahead := bloomdbtest.NewClock()
	ahead.Add(2 * time.Hour)
	odd := func(h wire.Head, body []byte) []byte {
		h.Type, h.Site, h.Epoch = wire.RecordVotes, "a", 2
		return sealer(a).EncodeRecord(h, body)
	}
	body, _, err := a.Keyspace().Votes.Own.Body(bloomdbtest.SettingsOf(a).VotesGeneration(), bloomdbtest.SettingsOf(a).Reports.Period)
	testenv.Check(t, err)
	future, _, _ := a.Keyspace().Votes.Own.Body(bloomdbtest.SettingsOf(a).VotesGeneration()+1, bloomdbtest.SettingsOf(a).Reports.Period)
	for _, tc := range []struct {
		name string
		data []byte
		is   error // or
		says string
	}{
		{"federation", mustVotes(t, foreign), wire.ErrFederation, ""},
		{"stranger", mustVotes(t, member(t, c, "z")), wire.ErrStranger, ""},
		{"trusted in full", mustVotes(t, member(t, c, "friend")), nil, "the site's trust is full"},
		{"clock", mustVotes(t, member(t, ahead, "a")), layout.ErrClock, ""},
		{"period", mustVotes(t, daily), layout.ErrParameters, "period there 86400 s, here 604800 s"},
		{"torn", append(slices.Clone(good[:len(good)-1]), good[len(good)-1]^1), nil, "authentication code"},
		{"short", good[:50], nil, "cut short"},
		{"another record", sealer(a).EncodeRecord(a.Keyspace().Outbox.RecordHead(wire.RecordHeartbeat), make([]byte, 16)), nil, "expected a votes record"},
		{"no body", odd(wire.Head{Made: c.Now()}, nil), nil, "votes of 0 bytes"},
		{"begins too late", odd(wire.Head{Made: c.Now()}, future), nil, "begin with generation"},
		{"made before it begins", odd(wire.Head{Made: c.Now().Add(-400 * time.Hour)}, body), nil, "begin with generation"},
	} {
		err := here.ApplyVotes(tc.data)
		if err == nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 0 {
		t.Errorf("%d votes", e.Votes)
	}
	if err := here.ApplyVotes(mustVotes(t, here)); err != nil {
		t.Errorf("own record: %v", err)
	}
}

// An older record is ignored, and one of a stale epoch is rejected.
func TestApplyVotesReplayed(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a := listener(t, c, "a"), member(t, c, "a")
	old := mustVotes(t, a)
	bloomdbtest.Report(t, a, 1)
	mustApplyVotes(t, here, a)
	if err := here.ApplyVotes(old); err != nil || here.Judge(bloomdbtest.Message(1)).Votes != 1 {
		t.Errorf("an older record was applied: %v", err)
	}
	c.Add(time.Hour)
	mustApplyVotes(t, here, member(t, c, "a"))
	if here.Judge(bloomdbtest.Message(1)).Votes != 0 {
		t.Error("votes of the site's earlier epoch still count")
	}
	if err := here.ApplyVotes(mustVotes(t, a)); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("a stale epoch: %v", err)
	}
}
