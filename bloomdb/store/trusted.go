package store

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// TrustedSites are the sites that count in verdicts and counts: those with TrustFull that are
// not muted. Parts of other sites may be stored, but are not looked up. The value never
// changes; nil: all sites are trusted.
type TrustedSites struct {
	Members wire.Members
	Muted   []folder.MutedSite // by name
}

func (v *TrustedSites) Includes(site string) bool {
	if v == nil {
		return true
	}
	_, muted := v.Find(site)
	member, ok := v.Members.Of(site)
	return !muted && ok && member.Trust == wire.TrustFull
}

func (v *TrustedSites) Find(site string) (m folder.MutedSite, ok bool) {
	i, ok := slices.BinarySearchFunc(v.Muted, site, folder.CompareMuted)
	if ok {
		m = v.Muted[i]
	}
	return m, ok
}

// only returns the parts of trusted sites.
func (v *TrustedSites) only(parts []SitePart) []SitePart {
	silent := func(p SitePart) bool { return !v.Includes(p.Origin.Site) }
	if !slices.ContainsFunc(parts, silent) {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), silent)
}

// With returns a copy in which one site is muted as in m, or is not muted.
func (v *TrustedSites) With(m folder.MutedSite, on bool) *TrustedSites {
	muted := slices.Clone(v.Muted)
	i, found := slices.BinarySearchFunc(muted, m.Site, folder.CompareMuted)
	if found {
		muted = slices.Delete(muted, i, i+1)
	}
	if on {
		muted = slices.Insert(muted, i, m)
	}
	return &TrustedSites{v.Members, muted}
}

// Muted reports whether a site is muted or dropped.
func (st *Store) Muted(site string) bool {
	_, muted := st.View.Load().Trusted.Find(site)
	return muted
}

// IsDropped reports whether a file belongs to a dropped site.
func (st *Store) IsDropped(name string) bool {
	return slices.ContainsFunc(st.View.Load().Trusted.Muted, func(m folder.MutedSite) bool { return m.Dropped && IsSiteFile(name, m.Site) })
}

// Mutes reports whether a site is muted or dropped.
func (v *TrustedSites) Mutes(site string) bool {
	_, muted := v.Find(site)
	return muted
}
