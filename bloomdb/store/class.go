package store

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// GraverClass returns the gravest class under which a site reported a key. It does not look
// up classes less grave than known.
func (g *ReportGeneration) GraverClass(l *keyring.Labels, h filter.Hash, known layout.Class) layout.Class {
	for c := layout.ClassMalware; c.Named() && c != known; c++ {
		if g.isReportedAs(l[c], h) {
			return c
		}
	}
	return known
}

// isReportedAs reports whether a site reported a key under a class. Lookups in parts are slow, so
// parts are used only if the joined bits contain the label.
func (g *ReportGeneration) isReportedAs(label, h filter.Hash) bool {
	if l := g.classes.Own; l != nil && l.Has(label) && g.Spam.Own != nil && g.Spam.Own.Has(h) {
		return true
	}
	if l := g.classes.Others; l == nil || !l.Has(label) {
		return false
	}
	sites := g.Spam.partsWith(h)
	return slices.ContainsFunc(g.classes.partsWith(label), func(s string) bool { return slices.Contains(sites, s) })
}

// ClassesBySite returns the classes under which each site reported a key, gravest first.
func (st *Store) ClassesBySite(g *ReportGeneration, h filter.Hash) map[string][]layout.Class {
	by := make(map[string][]layout.Class)
	l := st.Ring.Labels(h)
	for c := layout.ClassMalware; c.Named(); c++ {
		if !g.classes.Has(l[c]) {
			continue
		}
		for _, site := range g.classes.Sites(l[c], st.Opt.Site) {
			by[site] = append(by[site], c)
		}
	}
	return by
}

// KeptClass returns the class that a report's journal record names. It is ClassOther if classes
// are off, or if the generation's class filter is full, which is logged once. A full class
// filter never rejects a report.
func (st *Store) KeptClass(c layout.Class, gen int64) layout.Class {
	if !st.Opt.Reports.Classes || !c.Named() {
		return layout.ClassOther
	}
	t := layout.Target{Kind: layout.ClassFilter, Gen: gen}
	own, err := st.OwnBits(t, st.ShapeFor(t))
	if err == nil {
		err = st.Opt.Fits(fmt.Sprintf("class filter generation %d", gen), own.Shape(), own.Ones(), t)
	}
	if err != nil {
		if st.classesLost.Swap(gen) != gen {
			st.Opt.Log.Warn("class filter is full: reports are recorded without their class", "error", err)
		}
		return layout.ClassOther
	}
	return c
}
