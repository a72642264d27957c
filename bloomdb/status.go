package bloomdb

import (
	"encoding/hex"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Status describes the database: what it holds, and how well it works.
type Status struct {
	Site    string         `json:"site"`
	Epoch   uint64         `json:"epoch"`
	KeyID   string         `json:"key_id"`
	Filters []FilterStatus `json:"filters"`      // newest generation first
	Sites   []SiteStatus   `json:"sites"`        // this site first
	Memory  int64          `json:"memory_bytes"` // held for filters and parts
	Journal int64          `json:"journal_bytes"`
	Burst   *BurstStatus   `json:"burst,omitempty"` // nil: CountOptions.Burst is 0
	// Greylist is what Defer remembers; nil before the first message that it might defer.
	Greylist *BurstStatus `json:"greylist,omitempty"`

	Never NeverStatus `json:"never"`
	Votes VotesStatus `json:"votes"`
	Error string      `json:"error,omitempty"` // the journal's fault, while it lasts

	// Clock is a jump of the clock that is not believed; nil while the clock is in order.
	Clock *ClockStatus `json:"clock,omitempty"`

	// Damaged are files that were set aside, until they are removed.
	Damaged []DamagedFile `json:"damaged,omitempty"`

	// Previous is the database under the previous federation key, while that is rolled
	// over; it may be left out from PreviousUntil on, when what was reported before the
	// roll-over has aged out.
	Previous      *Status    `json:"previous,omitempty"`
	PreviousUntil *time.Time `json:"previous_until,omitempty"`

	// ErrorPerMail estimates, from the filters as they are, the chance that a
	// message nobody reported, with as many signatures as planned for and a long text
	// that is asked for near-duplicates, is listed; by the previous key's database, too.
	ErrorPerMail float64 `json:"error_per_mail"`
}

// FilterStatus describes one generation of one filter, all sites together.
type FilterStatus struct {
	Kind       string    `json:"kind"` // spam, revoked, classes, sketches, domains, counts
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"`
	Fill       float64   `json:"fill"`  // share of bits or cells in use; the fuller of own and others'
	Error      float64   `json:"error"` // bits: chance that one absent key is found
	Memory     int64     `json:"memory_bytes"`
	Saturated  int64     `json:"saturated,omitempty"` // counts: raises lost to a full overflow table

	// Masked is how many bits are hidden by retouches; spam only. Lost estimates how
	// many reported signatures are no longer found for them.
	Masked int64   `json:"masked,omitempty"`
	Lost   float64 `json:"lost,omitempty"`
}

// Status is cheap enough for a scrape every few seconds: only filters that have
// changed are measured again.
func (db *DB) Status() Status {
	s := db.ks.status()
	s.Clock = db.ks.keeper.status()
	if s.Burst = db.burst.status(db.ks.opt.Now()); s.Burst != nil {
		s.Memory += s.Burst.Memory
	}
	if s.Greylist = db.greylist.status(db.ks.opt.Now()); s.Greylist != nil {
		s.Memory += s.Greylist.Memory
	}
	if db.previous != nil {
		before, until := db.previous.Status(), db.ks.previousUntil()
		s.Previous, s.PreviousUntil = &before, &until
		s.ErrorPerMail += before.ErrorPerMail
	}
	return s
}

// status describes one keyspace.
func (ks *keyspace) status() Status {
	v := ks.store.current()
	epoch, seq := ks.pub.Head()
	s := Status{Site: ks.opt.Site, Epoch: epoch, KeyID: hex.EncodeToString(ks.ring.keyID[:]), Journal: ks.journal.bytesFrom(0)}
	s.Never, s.Votes, s.Damaged = ks.neverStatus(), ks.votes.votesStatus(), ks.files.damagedFiles()
	if err := ks.journal.lastFault(); err != nil {
		s.Error = err.Error()
	}
	ks.store.measured.expire(ks.opt.aged)
	self := SiteStatus{Site: ks.opt.Site, Epoch: epoch, Seq: seq}
	for _, g := range v.reports {
		for _, kind := range reportKinds {
			if f, ok := ks.listingStatus(target{kind, g.num}, g.listing(kind), &self); ok {
				if kind == spamFilter {
					f.addMask(g)
				}
				s.Filters = append(s.Filters, f)
				switch kind {
				case spamFilter:
					s.ErrorPerMail += f.Error * float64(ks.opt.Reports.KeysPerMessage)
				case sketchFilter:
					s.ErrorPerMail += ks.sketchError(g)
				}
			}
		}
	}
	for _, g := range v.reports {
		if g.domains != nil {
			s.Filters = append(s.Filters, ks.domainStatus(g, &self))
		}
	}
	for _, g := range v.counts {
		s.Filters = append(s.Filters, ks.countStatus(g, &self))
	}
	s.Memory += s.Votes.Memory
	for _, f := range s.Filters {
		s.Memory += f.Memory
	}
	s.Sites = ks.peers.siteStatus(&v, self)
	return s
}

func (ks *keyspace) listingStatus(t target, l *listing, self *SiteStatus) (f FilterStatus, ok bool) {
	if l.own == nil && l.others == nil {
		return f, false
	}
	f = FilterStatus{Kind: t.kind.String(), Generation: t.gen, Start: ks.opt.start(t)}
	for _, b := range []*filter.Bits{l.own, l.others} {
		if b == nil {
			continue
		}
		f.Fill = max(f.Fill, float64(b.Ones())/float64(b.Shape().Size()))
		f.Error += ks.store.measured.filter(measuredFilter{t, b == l.own}, b)
		f.Memory += b.Shape().Bytes()
	}
	if l.own != nil {
		self.Cells += l.own.Ones()
		self.Memory += l.own.Shape().Bytes()
	}
	for _, p := range l.parts {
		f.Memory += p.part.Bytes()
	}
	return f, true
}

func (ks *keyspace) countStatus(g *countGeneration, self *SiteStatus) FilterStatus {
	t := target{countFilter, g.num}
	f := FilterStatus{Kind: t.kind.String(), Generation: g.num, Start: ks.opt.start(t)}
	if g.own != nil {
		f.Fill = float64(g.own.Used()) / float64(g.own.Shape().Size())
		f.Memory, f.Saturated = g.own.Bytes(), g.own.Saturated()
		self.Cells += g.own.Used()
		self.Memory += g.own.Bytes()
	}
	for _, p := range g.parts {
		f.Fill = max(f.Fill, float64(p.part.Cells())/float64(p.part.Size()))
		f.Memory += p.part.Bytes()
	}
	return f
}

// domainStatus describes a generation's counts of domains.
func (ks *keyspace) domainStatus(g *reportGeneration, self *SiteStatus) FilterStatus {
	t := target{domainFilter, g.num}
	f := FilterStatus{Kind: t.kind.String(), Generation: g.num, Start: ks.opt.start(t)}
	f.Fill = float64(g.domains.Used()) / float64(g.domains.Shape().Size())
	f.Memory, f.Saturated = g.domains.Bytes(), g.domains.Saturated()
	self.Cells += g.domains.Used()
	self.Memory += f.Memory
	return f
}

// addMask adds a generation's mask to what is said of its spam filter. The loss is
// estimated from the filter as it stands, and as if each retouched key had been
// reported, which is the larger one of both.
func (f *FilterStatus) addMask(g *reportGeneration) {
	if g.mask == nil {
		return
	}
	keys, bits, _ := g.mask.size()
	f.Masked = int64(bits)
	f.Memory += int64(keys) * maskedBytes
	for _, pos := range g.mask.masked() {
		f.Lost += 1 + filter.LoadAt(pos, g.spam.own, g.spam.others).Others
	}
}

// sketchError is matchError of a generation's filters as they stand.
func (ks *keyspace) sketchError(g *reportGeneration) float64 {
	sum := 0.0
	for _, b := range []*filter.Bits{g.sketches.own, g.sketches.others} {
		if b != nil {
			sum += matchError(ks.store.measured.filter(measuredFilter{target{sketchFilter, g.num}, b == g.sketches.own}, b))
		}
	}
	return sum
}
