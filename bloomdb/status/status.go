// Package status describes a database: its filters, sites, journal and condition. Its types are
// what status shows, with stable JSON names.
//
// It has no state and changes nothing. It takes the read locks of what it describes, one at a
// time, and does no I/O.
package status

import (
	"encoding/hex"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// Never describes the size of the never-list, and its effect since the start.
type Never struct {
	Entries int   `json:"entries"`
	Spared  int64 `json:"spared"` // messages that would have been judged spam without the list
}

// Status describes the database: its content and its condition.
type Status struct {
	Site    string         `json:"site"`
	Epoch   uint64         `json:"epoch"`
	KeyID   string         `json:"key_id"`
	Filters []Filter       `json:"filters"`      // newest generation first
	Sites   []peers.Status `json:"sites"`        // this site first
	Memory  int64          `json:"memory_bytes"` // of filters and parts
	Journal int64          `json:"journal_bytes"`
	Burst   *recent.Status `json:"burst,omitempty"` // nil: CountOptions.Burst is 0
	// Greylist describes the messages that Defer recorded; nil before the first one.
	Greylist *recent.Status `json:"greylist,omitempty"`

	Never Never       `json:"never"`
	Votes vote.Status `json:"votes"`
	// Revocable is the number of bits that this site's revocations may set in a period.
	Revocable int64 `json:"-"`
	// NewSite reports whether nothing can be common here yet (package commonness).
	NewSite bool `json:"new_site,omitempty"`

	Error string `json:"error,omitempty"` // the journal's fault; empty when it is over

	// Clock is a jump of the clock that is not believed; nil while the clock is in order.
	Clock *clock.Status `json:"clock,omitempty"`

	// Damaged are files that were set aside, until they are removed.
	Damaged []folder.DamagedFile `json:"damaged,omitempty"`

	// Previous is the database under the previous federation key during a key change. From
	// PreviousUntil on, when reports from before the change have expired, the previous key may be
	// removed from the configuration.
	Previous      *Status    `json:"previous,omitempty"`
	PreviousUntil *time.Time `json:"previous_until,omitempty"`

	// ErrorPerMail estimates the chance that an unreported message is listed, or that a revoked
	// one is listed again by a rung of the ladder, with the filters as they are. It assumes as many signatures as planned, and a long text that is looked up for
	// near-duplicates. It includes the previous key's database.
	ErrorPerMail float64 `json:"error_per_mail"`
}

// Filter describes one generation of one filter, all sites together.
type Filter struct {
	Kind       string    `json:"kind"` // spam, revoked, classes, sketches, ladder, domains, counts
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"`
	Fill       float64   `json:"fill"`                     // share of bits or cells in use; the fuller of own and others'
	Error      float64   `json:"error"`                    // bits: chance that one absent key is found
	PerMail    float64   `json:"error_per_mail,omitempty"` // its part of Status.ErrorPerMail
	Memory     int64     `json:"memory_bytes"`
	Saturated  int64     `json:"saturated,omitempty"` // counts: increments lost to a full overflow table
	Taken      float64   `json:"-"`                   // bits: share of the current period's planned ones that this site has set
	Full       bool      `json:"full,omitempty"`      // bits: of the current period, and at least fullFrom of the planned ones are set

	// Masked is the number of bits that retouches hide; spam only. Lost estimates how many reported
	// signatures are no longer found because of them.
	Masked int64   `json:"masked,omitempty"`
	Lost   float64 `json:"lost,omitempty"`
}

// fullFrom is the share of the planned bits from which a filter is called full: reports and other
// sites' records that do not fit into the rest are refused.
const fullFrom = 0.99

// Of returns the status of one keyspace.
func Of(ks *keyspace.Keyspace) Status {
	v := ks.Store.Current()
	epoch, seq := ks.Outbox.Head()
	s := Status{Site: ks.Settings.Site, Epoch: epoch, KeyID: hex.EncodeToString(ks.Ring.KeyID[:]), Journal: ks.Journal.BytesFrom(0)}
	s.Never, s.Votes, s.Damaged = never(ks), ks.Votes.Status(), ks.Files.DamagedFiles()
	if err := ks.Journal.LastFault(); err != nil {
		s.Error = err.Error()
	}
	s.Memory += ks.Common.Memory()
	s.NewSite = ks.Common.IsNew()
	s.Revocable = ks.Settings.FillLimit(layout.RevokedFilter, ks.Settings.RevokedShape())
	ks.Store.Measured.Expire(ks.Settings.Expired)
	self := peers.Status{Site: ks.Settings.Site, Epoch: epoch, Seq: seq}
	for _, g := range v.Reports {
		for _, kind := range layout.ReportKinds {
			if f, ok := listingStatus(ks, layout.Target{Kind: kind, Gen: g.Num}, g.Listing(kind), &self); ok {
				if kind == layout.SpamFilter {
					f.addMask(g)
				}
				switch kind {
				case layout.SpamFilter, layout.LadderFilter:
					f.PerMail = f.Error * float64(ks.Settings.Reports.KeysPerMessage)
				case layout.SketchFilter:
					f.PerMail = sketchError(ks, g)
				}
				s.ErrorPerMail += f.PerMail
				s.Filters = append(s.Filters, f)
			}
		}
	}
	for _, g := range v.Reports {
		if g.Domains != nil {
			s.Filters = append(s.Filters, domainStatus(ks, g, &self))
		}
	}
	for _, g := range v.Counts {
		s.Filters = append(s.Filters, countStatus(ks, g, &self))
	}
	s.Memory += s.Votes.Memory
	for _, f := range s.Filters {
		s.Memory += f.Memory
	}
	s.Sites = ks.Peers.Status(&v, self)
	return s
}

func listingStatus(ks *keyspace.Keyspace, t layout.Target, l *store.Listing, self *peers.Status) (f Filter, ok bool) {
	if l.Own == nil && l.Others == nil {
		return f, false
	}
	f = Filter{Kind: t.Kind.String(), Generation: t.Gen, Start: ks.Settings.Start(t)}
	isCurrent := t.Gen == ks.Settings.Generation(t.Kind, ks.Settings.Now())
	taken := func(b *filter.Bits) float64 {
		return float64(b.Ones()) / float64(ks.Settings.FillLimit(t.Kind, b.Shape()))
	}
	for _, b := range []*filter.Bits{l.Own, l.Others} {
		if b == nil {
			continue
		}
		f.Fill = max(f.Fill, float64(b.Ones())/float64(b.Shape().Size()))
		f.Error += ks.Store.Measured.Filter(store.MeasuredFilter{Target: t, Own: b == l.Own}, b)
		f.Memory += b.Shape().Bytes()
		f.Full = f.Full || isCurrent && taken(b) >= fullFrom
	}
	if l.Own != nil {
		if isCurrent {
			f.Taken = taken(l.Own)
		}
		self.Cells += l.Own.Ones()
		self.Memory += l.Own.Shape().Bytes()
	}
	for _, p := range l.Parts {
		f.Memory += p.Bytes()
	}
	return f, true
}

func countStatus(ks *keyspace.Keyspace, g *store.CountGeneration, self *peers.Status) Filter {
	t := layout.Target{Kind: layout.CountFilter, Gen: g.Num}
	f := Filter{Kind: t.Kind.String(), Generation: g.Num, Start: ks.Settings.Start(t)}
	if g.Own != nil {
		f.Fill = float64(g.Own.Used()) / float64(g.Own.Shape().Size())
		f.Memory, f.Saturated = g.Own.Bytes(), g.Own.Saturated()
		self.Cells += g.Own.Used()
		self.Memory += g.Own.Bytes()
	}
	for _, p := range g.Parts {
		f.Fill = max(f.Fill, float64(p.Part.Cells())/float64(p.Part.Size()))
		f.Memory += p.Part.Bytes()
	}
	return f
}

// domainStatus describes a generation's counts of domains.
func domainStatus(ks *keyspace.Keyspace, g *store.ReportGeneration, self *peers.Status) Filter {
	t := layout.Target{Kind: layout.DomainFilter, Gen: g.Num}
	f := Filter{Kind: t.Kind.String(), Generation: g.Num, Start: ks.Settings.Start(t)}
	f.Fill = float64(g.Domains.Used()) / float64(g.Domains.Shape().Size())
	f.Memory, f.Saturated = g.Domains.Bytes(), g.Domains.Saturated()
	self.Cells += g.Domains.Used()
	self.Memory += f.Memory
	return f
}

// addMask adds a generation's mask to the status of its spam filter. The loss is the larger of two
// estimates: from the filter as it is, and as if each retouched key had been reported.
func (f *Filter) addMask(g *store.ReportGeneration) {
	if g.Mask == nil {
		return
	}
	keys, bits, _ := g.Mask.Size()
	f.Masked = int64(bits)
	f.Memory += int64(keys) * mask.KeyBytes
	for _, pos := range g.Mask.Masked() {
		f.Lost += 1 + filter.LoadAt(pos, g.Spam.Own, g.Spam.Others).Others
	}
}

// sketchError returns MatchError and ShapeError for a generation's filters as they are.
func sketchError(ks *keyspace.Keyspace, g *store.ReportGeneration) float64 {
	sum := 0.0
	for _, b := range []*filter.Bits{g.Sketches.Own, g.Sketches.Others} {
		if b != nil {
			p := ks.Store.Measured.Filter(store.MeasuredFilter{Target: layout.Target{Kind: layout.SketchFilter, Gen: g.Num}, Own: b == g.Sketches.Own}, b)
			sum += sketch.MatchError(p) + sketch.ShapeError(p)
		}
	}
	return sum
}

func never(ks *keyspace.Keyspace) Never {
	ks.Never.Mu.RLock()
	defer ks.Never.Mu.RUnlock()
	return Never{len(ks.Never.Entries), ks.Never.Spared.Load()}
}
