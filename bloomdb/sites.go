package bloomdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// ErrMuted is the error of Apply for records of a site that is muted here.
var ErrMuted = errors.New("muted here")

// maxMuted bounds the sites that are muted at a time.
const maxMuted = maxOrigins

// mutedSite is a site whose influence was taken away; the identity lists them, by
// name.
type mutedSite struct {
	Site    string `json:"site"`
	Dropped bool   `json:"dropped,omitempty"` // nothing of it is held either
	Since   int64  `json:"since"`             // seconds since 1970
}

func compareMuted(m mutedSite, site string) int { return strings.Compare(m.Site, site) }

// trustedSites are the sites that count in verdicts and counts: those with TrustFull that
// are not muted. Parts of other sites may be held, but are not looked up. The value is
// never changed; nil: all sites are trusted.
type trustedSites struct {
	members Members
	muted   []mutedSite // by name
}

func (v *trustedSites) includes(site string) bool {
	if v == nil {
		return true
	}
	_, muted := v.find(site)
	member, ok := v.members.of(site)
	return !muted && ok && member.Trust == TrustFull
}

func (v *trustedSites) find(site string) (m mutedSite, ok bool) {
	i, ok := slices.BinarySearchFunc(v.muted, site, compareMuted)
	if ok {
		m = v.muted[i]
	}
	return m, ok
}

// only returns the parts of trusted sites.
func (v *trustedSites) only(parts []sitePart) []sitePart {
	silent := func(p sitePart) bool { return !v.includes(p.origin.site) }
	if !slices.ContainsFunc(parts, silent) {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), silent)
}

// with returns a copy in which one site is muted as in m, or is not muted.
func (v *trustedSites) with(m mutedSite, on bool) *trustedSites {
	muted := slices.Clone(v.muted)
	i, found := slices.BinarySearchFunc(muted, m.Site, compareMuted)
	if found {
		muted = slices.Delete(muted, i, i+1)
	}
	if on {
		muted = slices.Insert(muted, i, m)
	}
	return &trustedSites{v.members, muted}
}

// beginSites takes from the identity which sites are muted. It comes before any file
// of another site is read.
func (ps *peers) beginSites(id identity) error {
	for i, m := range id.Muted {
		if !ValidSite(m.Site) || m.Site == id.Site || i >= maxMuted || i > 0 && id.Muted[i-1].Site >= m.Site {
			return damaged(identityPath(ps.opt.Dir), 0, fmt.Errorf("muted site %d is %.80q", i, m.Site))
		}
	}
	return ps.store.change(func(v *view) error {
		v.trusted = &trustedSites{ps.sealer.members, id.Muted}
		return nil
	})
}

// Muted says that a site is muted or dropped here.
func (st *store) Muted(site string) bool {
	_, muted := st.view.Load().trusted.find(site)
	return muted
}

// Mute takes a site's influence away, or gives it back. A muted site has no say in
// verdicts and counts any more: what is held of it is kept, but asked by nobody, and
// its further records are refused with ErrMuted. When Mute returns, that is on disk.
// Once the site is heard again, what was held of it counts as before, and its stream or
// snapshot brings the rest; of a dropped site they bring all. Any valid name can be
// muted before it was ever heard, but not this site's own. Verdicts are given
// meanwhile; other sites' records wait. While the federation key is rolled over, it is
// done under both keys; after an error, it may have been under one, and should be
// tried again.
func (db *DB) Mute(site string, on bool) error {
	if db.ks.closed.Load() {
		return ErrClosed
	}
	if err := db.ks.peers.silenceable(site); err != nil {
		return err
	}
	return db.each(func(ks *keyspace) error { return ks.peers.setMuted(site, on) })
}

func (ps *peers) setMuted(site string, on bool) error {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	var err error
	if on {
		err = ps.mute(site)
	} else {
		err = ps.unmute(site)
	}
	if err != nil {
		return fmt.Errorf("mute %s: %w", site, err)
	}
	return nil
}

// takeMuted mutes and drops a site as another keyspace has it.
func (ks *keyspace) takeMuted(m mutedSite) (err error) {
	known, muted := ks.store.view.Load().trusted.find(m.Site)
	if !muted {
		err = ks.peers.setMuted(m.Site, true)
	}
	if m.Dropped && !known.Dropped {
		err = errors.Join(err, ks.dropSite(m.Site))
	}
	return err
}

// Drop mutes a site and deletes what is held of it, in all its lives, from memory and
// disk: all is as if it had never been heard, and stays so until Mute(site, false),
// after which it is heard from anew. It is done or refused like Mute; what a crash
// leaves of the files is deleted by Open.
func (db *DB) Drop(site string) error {
	if err := db.Mute(site, true); err != nil { // at once; a snapshot may take a while
		return err
	}
	return db.each(func(ks *keyspace) error { return ks.dropSite(site) })
}

func (ks *keyspace) dropSite(site string) error {
	ks.snapshotMu.Lock()
	defer ks.snapshotMu.Unlock()
	err := ks.peers.drop(site, func(lives []origin) {
		for _, o := range lives {
			delete(ks.files.saved, sitePath(ks.opt.Dir, o))
		}
		ks.votes.voters.drop(site)
	})
	if err != nil {
		return fmt.Errorf("drop %s: %w", site, err)
	}
	return nil
}

// Drops counts the calls of Drop since the start.
func (ps *peers) Drops() uint64 { return ps.drops.Load() }

func (ps *peers) silenceable(site string) error {
	switch {
	case !ValidSite(site):
		return fmt.Errorf("site name %.80q: must be 1 to 64 characters of a-z A-Z 0-9 . _ -", site)
	case site == ps.opt.Site:
		return fmt.Errorf("site %s is this one", site)
	}
	return nil
}

// mute is Mute of a site that may be muted already. sitesMu is held.
func (ps *peers) mute(site string) error {
	v := ps.store.view.Load().trusted
	if _, muted := v.find(site); !muted {
		if len(v.muted) >= maxMuted {
			return fmt.Errorf("%d sites are muted, at most %d can be", len(v.muted), maxMuted)
		}
		v = v.with(mutedSite{Site: site, Since: ps.opt.Now().Unix()}, true)
		if err := ps.pub.silence(ps.opt.Dir, v.muted, ""); err != nil {
			return err
		}
		_ = ps.store.change(func(view *view) error { return view.setTrusted(v) })
	}
	return ps.store.rejoin(site)
}

// unmute joins the site's bits before it has a say again. sitesMu is held.
func (ps *peers) unmute(site string) error {
	v := ps.store.view.Load().trusted
	m, muted := v.find(site)
	if !muted {
		return nil
	}
	if m.Dropped {
		if err := ps.removeFiles(site); err != nil {
			return err
		}
	}
	next := v.with(m, false)
	if err := ps.pub.silence(ps.opt.Dir, next.muted, ""); err != nil {
		return err
	}
	if next.includes(site) {
		ps.store.joinAgain(site)
	}
	return ps.store.change(func(v *view) error { return v.setTrusted(next) })
}

// drop deletes what is held of a muted site. It calls forget with the site's lives before it
// removes their files.
func (ps *peers) drop(site string, forget func(lives []origin)) error {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	trusted := ps.store.view.Load().trusted
	m, _ := trusted.find(site)
	m.Site, m.Dropped = site, true
	trusted = trusted.with(m, true)
	if err := ps.pub.silence(ps.opt.Dir, trusted.muted, site); err != nil {
		return err
	}
	_ = ps.store.change(func(v *view) error {
		v.trusted = trusted
		return v.dropParts(site)
	})
	var lives []origin
	for o := range ps.sites {
		if o.site == site {
			delete(ps.sites, o)
			lives = append(lives, o)
		}
	}
	forget(lives)
	ps.forgetUses(site)
	ps.store.measured.forgetSite(site)
	if err := ps.removeFiles(site); err != nil {
		return err
	}
	ps.drops.Add(1)
	return nil
}

// setTrusted sets, in every generation, which parts are looked up.
func (v *view) setTrusted(trusted *trustedSites) error {
	v.trusted = trusted
	return v.editAll(func(*reportGeneration) {}, func(*countGeneration) {})
}

// silence notes, on disk, which sites are muted, and that the folder does not rest on
// the files of one that is gone.
func (p *publisher) silence(dir string, muted []mutedSite, gone string) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	before := p.id
	p.id.Muted = muted
	p.id.Snapshots = slices.DeleteFunc(slices.Clone(p.id.Snapshots), func(name string) bool { return isSiteFile(name, gone) })
	if err := p.writeLocked(dir, p.written); err != nil {
		p.id.Muted, p.id.Snapshots = before.Muted, before.Snapshots
		return err
	}
	return nil
}

// isSiteFile says whether a file holds the parts of a site, in whichever life, or its
// votes.
func isSiteFile(name, site string) bool {
	if isVotesPath(name) {
		return name == filepath.Base(votesPath("", site))
	}
	rest, ok := strings.CutPrefix(name, "site-"+site+"-")
	epoch, snapshot := strings.CutSuffix(rest, ".snapshot")
	return ok && snapshot && epoch != "" && strings.Trim(epoch, "0123456789") == ""
}

// isDropped says whether a file is of a site that was dropped.
func (st *store) isDropped(name string) bool {
	return slices.ContainsFunc(st.view.Load().trusted.muted, func(m mutedSite) bool { return m.Dropped && isSiteFile(name, m.Site) })
}

// removeFiles deletes the files of a site of which nothing is held in memory.
func (ps *peers) removeFiles(site string) error {
	entries, err := os.ReadDir(ps.opt.Dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	for _, e := range entries {
		if !isSiteFile(e.Name(), site) {
			continue
		}
		if e := os.Remove(filepath.Join(ps.opt.Dir, e.Name())); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, syncDir(ps.opt.Dir))
}

// editAll edits every generation; which parts have a say is settled anew.
func (v *view) editAll(report func(*reportGeneration), count func(*countGeneration)) error {
	for _, g := range slices.Clone(v.reports) {
		if err := v.editReport(g.num, func(g *reportGeneration) error { report(g); return nil }); err != nil {
			return err
		}
	}
	for _, g := range slices.Clone(v.counts) {
		if err := v.editCount(g.num, func(g *countGeneration) error { count(g); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// dropParts takes a site's parts out, and generations in which nothing else is. Its
// bits must have been taken out of the joined ones.
func (v *view) dropParts(site string) error {
	of := func(p sitePart) bool { return p.origin.site == site }
	empty := func(g *reportGeneration) bool { return g.mask == nil && g.domains == nil }
	err := v.editAll(func(g *reportGeneration) {
		for _, kind := range reportKinds {
			l := g.listing(kind)
			if l.parts = slices.DeleteFunc(l.parts, of); len(l.parts) == 0 {
				l.others = nil
			}
		}
	}, func(g *countGeneration) { g.parts = slices.DeleteFunc(g.parts, of) })
	v.reports = slices.DeleteFunc(v.reports, func(g *reportGeneration) bool {
		for _, kind := range reportKinds {
			if l := g.listing(kind); l.own != nil || len(l.parts) > 0 {
				return false
			}
		}
		return empty(g)
	})
	v.counts = slices.DeleteFunc(v.counts, func(g *countGeneration) bool { return g.own == nil && len(g.parts) == 0 })
	return err
}

// rejoin makes the joined bits anew wherever a site had a share in them, of the parts
// that have a say. The old ones are asked until the new ones are whole: since a listing
// needs a site that has it, a site without a say lists nothing meanwhile. sitesMu is
// held, so that no part changes.
func (st *store) rejoin(site string) error {
	for _, g := range st.view.Load().reports {
		for _, kind := range reportKinds {
			l, t := g.listing(kind), target{kind, g.num}
			if !slices.ContainsFunc(l.parts, func(p sitePart) bool { return p.origin.site == site }) {
				continue
			}
			others, err := filter.NewBits(l.others.Shape())
			if err != nil {
				return fmt.Errorf("%s generation %d: %w", kind, g.num, err)
			}
			for _, p := range l.trusted {
				p.joinTo(others)
			}
			_ = st.change(func(v *view) error { return v.replaceOthers(t, others) })
			st.measured.forgetJoined(t)
		}
	}
	return nil
}

// replaceOthers puts joined bits in a generation, unless it aged out meanwhile.
func (v *view) replaceOthers(t target, others *filter.Bits) error {
	if v.report(t.gen) == nil {
		return nil
	}
	return v.editReport(t.gen, func(g *reportGeneration) error {
		g.listing(t.kind).others = others
		return nil
	})
}

// joinAgain joins the bits of all of a site's parts. sitesMu is held.
func (st *store) joinAgain(site string) {
	for _, g := range st.view.Load().reports {
		for _, kind := range reportKinds {
			l := g.listing(kind)
			for _, p := range l.parts {
				if p.origin.site == site {
					p.joinTo(l.others)
				}
			}
		}
	}
}

// joinTo sets the part's bits in a filter of its shape.
func (p *sitePart) joinTo(b *filter.Bits) {
	var cells []filter.Cell
	for i := range filter.Blocks(p.part.Size(), false) {
		cells = p.part.Block(i, cells[:0])
		b.SetCells(cells)
	}
}

// mutes reports whether a site is muted or dropped.
func (v *trustedSites) mutes(site string) bool {
	_, muted := v.find(site)
	return muted
}
