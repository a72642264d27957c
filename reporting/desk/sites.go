package desk

import (
	"cmp"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// silence is the time without a record after which a site counts as silent. Heartbeats
// arrive every two seconds.
const silence = time.Minute

// site is a site with the facts that decide its state.
type site struct {
	api.Site
	muted, dropped, capped bool
}

// Sites joins the database's status of each site with the links of the exchange. This site
// comes first, then the others by name.
func (d *Desk) Sites(links []api.Link) []api.Site {
	held := d.db.Status()
	sites := make(map[string]*site)
	named := func(name string) *site {
		if sites[name] == nil {
			sites[name] = &site{Site: api.Site{Site: name}}
		}
		return sites[name]
	}
	for _, s := range held.Sites {
		named(s.Site).add(s)
	}
	if held.Previous != nil { // held under the previous federation key
		for _, s := range held.Previous.Sites {
			named(s.Site).add(s)
		}
	}
	for _, link := range links {
		named(link.Site).Link = &link
	}
	var list []api.Site
	for name, s := range sites {
		if name == held.Site {
			s.State = api.StateSelf
		} else {
			s.Trust = d.db.TrustOf(name).String()
			s.State = s.state(time.Now())
		}
		list = append(list, s.Site)
	}
	slices.SortFunc(list, func(a, b api.Site) int {
		switch {
		case a.State == api.StateSelf:
			return -1
		case b.State == api.StateSelf:
			return 1
		}
		return cmp.Compare(a.Site, b.Site)
	})
	return list
}

// add adds the status of one epoch of the site. The latest epoch comes first.
func (s *site) add(held bloomdb.SiteStatus) {
	if held.Epoch != 0 {
		s.Lives++
	}
	s.Cells += held.Cells
	s.Memory += held.Memory
	s.muted, s.dropped = s.muted || held.Muted, s.dropped || held.Dropped
	s.capped = s.capped || held.Capped
	if s.Fill == nil {
		s.Fill = held.Fill
	}
	s.Error += held.Error
	s.ErrorShare += held.ErrorShare
}

func (s *site) state(now time.Time) string {
	switch {
	case s.dropped:
		return api.StateDropped
	case s.muted:
		return api.StateMuted
	case s.Trust == wire.TrustNone.String():
		return api.StateIgnored
	case s.Link != nil && s.Clock:
		return api.StateClock
	case s.Link != nil && s.Stale:
		return api.StateStale
	case s.capped:
		return api.StateCapped
	case s.Link != nil && s.ChunksOf > 0:
		return api.StateLoading
	case s.Link == nil || s.Heard == nil || now.Sub(*s.Heard) > silence:
		return api.StateSilent
	case s.Lives == 0 && s.Lag > 0 && s.Gaps == 0 && s.Trust == wire.TrustFull.String():
		return api.StateLoading
	}
	return api.StateHeard
}

// Mute mutes a site, or restores it if undo is set. When the error is nil, that is on disk.
func (d *Desk) Mute(name string, undo bool, by Author) error {
	return d.silence("mute", name, undo, by, func(db *bloomdb.DB) error { return db.Mute(name, !undo) })
}

// Drop mutes a site and deletes its filters. When the error is nil, that is on disk.
func (d *Desk) Drop(name string, by Author) error {
	return d.silence("drop", name, false, by, func(db *bloomdb.DB) error { return db.Drop(name) })
}

// silence changes a site under both federation keys, if there are two.
func (d *Desk) silence(action, name string, undo bool, by Author, change func(*bloomdb.DB) error) error {
	what := action
	if undo {
		what = "un" + action
	}
	err := d.noted(by, what, name, signature.Set{}, func() error {
		for db := d.db; db != nil; db = db.Previous() {
			if err := change(db); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.log.Info(action+" accepted", "site", name, "undo", undo, "reporter", by.Name, by.Origin.Attr())
	return nil
}
