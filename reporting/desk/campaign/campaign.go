// Package campaign groups the reports of one message and of its near-duplicates. It has no
// state, and reads neither the ledger nor the filters.
package campaign

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Campaign is what was reported of one message and its near-duplicates.
type Campaign struct {
	ID          string   // of the first report
	Report      uint64   // number of a held report, else of the latest one, for Settle
	IDs         []string // of all signatures, at most maxIDs
	Kinds       []string
	First, Last time.Time // report or revocation
	Reports     int
	Revocations int
	Reporters   []string // names, in the order of their first report
	Revokers    []string
	Settled     bool            // by an administrator
	Held        bool            // a report waits for a second reporter or an administrator
	Like        ledger.Likeness // why a report was held
	Class       bloomdb.Class   // of the latest report that has one
	Copies      int             // different messages among the reports
	Listed      bool
	Count       uint64   // how often the latest one was seen, all sites summed
	Sites       []string // that reported it, in the generation that lists it

	Mail judged.Group // what mail of this campaign has
}

// IsContested reports whether different people called it spam and wanted, and nobody has
// settled it.
func (c Campaign) IsContested() bool {
	if c.Settled {
		return false
	}
	return slices.ContainsFunc(c.Revokers, func(name string) bool { return !slices.Contains(c.Reporters, name) }) && len(c.Reporters) > 0
}

const (
	maxIDs     = 32
	maxSharing = 8 // reports that are compared for an anchor; the others of a campaign are joined through them
)

// Of groups reports and revocations into campaigns: those that share a signature, or enough of a
// sketch. Both lists begin with the latest. The function judge returns the evidence that the filters
// have about a message.
func Of(list []ledger.Report, judge func(signature.Set) bloomdb.Evidence) []Campaign {
	groups := newGroups(len(list))
	groups.joinSignatures(list)
	groups.joinSketches(list)
	of := make(map[int]*gathered)
	var order []*gathered
	for i, r := range list {
		root := groups.root(i)
		if of[root] == nil {
			of[root] = &gathered{latest: r.Set, seen: map[string]bool{}, signatures: map[signature.Signature]bool{}, anchors: map[string]bool{}}
			order = append(order, of[root])
		}
		of[root].add(r)
	}
	campaigns := make([]Campaign, len(order))
	for i, g := range order {
		campaigns[i] = g.judged(judge)
	}
	return campaigns
}

// gathered is a campaign while its reports are added, the latest first.
type gathered struct {
	Campaign
	latest signature.Set
	seen   map[string]bool // first signatures

	// What Mail has. A campaign may have all signatures of a thousand reports, so that none is
	// compared with all others.
	signatures map[signature.Signature]bool
	anchors    map[string]bool
}

func (g *gathered) add(r ledger.Report) {
	if g.Last.IsZero() {
		g.Report, g.Last, g.Kinds = r.ID, r.At, answer.Kinds(r.Set.Signatures)
	}
	g.First = r.At
	for i, id := range answer.IDs(r.Set.Signatures) {
		if i == 0 {
			g.ID, g.seen[id] = id, true
		}
		if len(g.IDs) < maxIDs && !slices.Contains(g.IDs, id) {
			g.IDs = append(g.IDs, id)
		}
	}
	g.gather(r)
	if r.Reporter == ledger.Settler {
		g.Settled = g.Settled || r.State == ledger.Counts
		return
	}
	if r.Stance == ledger.Ham {
		g.Revocations++
		if !slices.Contains(g.Revokers, r.Reporter) {
			g.Revokers = append(g.Revokers, r.Reporter)
		}
		return
	}
	g.Reports++
	if r.State == ledger.Held && !g.Held {
		g.Held, g.Report = true, r.ID
	}
	if g.Like.Mails == 0 {
		g.Like = r.Held
	}
	if !slices.Contains(g.Reporters, r.Reporter) {
		g.Reporters = append(g.Reporters, r.Reporter)
	}
	if g.Class == bloomdb.ClassOther {
		g.Class = bloomdb.Class(r.Class)
	}
}

// gather adds what mail like that of a report has.
func (g *gathered) gather(r ledger.Report) {
	for _, s := range r.Set.Signatures {
		if !g.signatures[s] {
			g.signatures[s] = true
			g.Mail.Signatures = append(g.Mail.Signatures, s)
		}
	}
	var key []byte
	for _, a := range r.Anchors {
		key = key[:0]
		for _, h := range a.Hashes {
			key = binary.BigEndian.AppendUint64(key, h)
		}
		if !g.anchors[string(key)] {
			g.anchors[string(key)] = true
			g.Mail.Anchors, g.Mail.Need = append(g.Mail.Anchors, a.Hashes), append(g.Mail.Need, a.Need)
		}
	}
}

// judged adds what the filters say of the latest message of a campaign. The ledger does not
// keep by which signatures it is counted: all are asked.
func (g *gathered) judged(judge func(signature.Set) bloomdb.Evidence) Campaign {
	c, set := g.Campaign, g.latest
	set.Counting = set.Signatures[:min(2, len(set.Signatures))]
	e := judge(set)
	c.Copies, c.Listed, c.Count = len(g.seen), e.Listed, e.Count
	c.Held = c.Held && !c.Listed && !c.Settled
	for _, m := range e.Matches {
		if m.Revoked {
			continue
		}
		for _, site := range m.Sites {
			if !slices.Contains(c.Sites, site) {
				c.Sites = append(c.Sites, site)
			}
		}
	}
	slices.Reverse(c.Reporters)
	return c
}

// groups joins numbers that belong together (union by path halving).
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

// root returns the smallest number of a group.
func (g groups) root(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g groups) join(i, j int) {
	i, j = g.root(i), g.root(j)
	g[max(i, j)] = min(i, j)
}

// joinSignatures joins the reports that share a signature.
func (g groups) joinSignatures(list []ledger.Report) {
	first := make(map[signature.Signature]int)
	for i, r := range list {
		for _, s := range r.Set.Signatures {
			if j, ok := first[s]; ok {
				g.join(i, j)
			} else {
				first[s] = i
			}
		}
	}
}

// joinSketches joins the reports that share as many anchors of a sketch as a listing needs.
func (g groups) joinSketches(list []ledger.Report) {
	having := make(map[uint64][]int) // reports by anchor, earlier ones of this list
	for i, r := range list {
		common, need := make(map[int]int), 0
		for _, a := range r.Anchors {
			need = max(need, a.Need)
			for _, h := range a.Hashes {
				for _, j := range having[h] {
					common[j]++
				}
			}
		}
		for j, n := range common {
			if need > 0 && n >= need {
				g.join(i, j)
			}
		}
		for _, a := range r.Anchors {
			for _, h := range a.Hashes {
				if of := having[h]; len(of) < maxSharing && (len(of) == 0 || of[len(of)-1] != i) {
					having[h] = append(of, i)
				}
			}
		}
	}
}
