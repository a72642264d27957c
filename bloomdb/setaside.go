package bloomdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Damage is contained. A damaged file whose loss costs recall only is set aside: it is
// renamed to NAME.damaged, the database opens without it, and Status lists it until an
// administrator removes it. Damage to this site's own reports refuses the start; Repair
// restores what snapshots, the journal and the ledger of reports still hold.

// damagedSuffix ends the name of a file that was set aside.
const damagedSuffix = ".damaged"

// DamagedFile is a file of the state folder that was damaged and is not used any more.
type DamagedFile struct {
	Name string `json:"name"` // in the state folder, under its present name
	Cost string `json:"cost"` // what is missing without it
}

// damagedFiles is DamagedFiles for one keyspace.
func (fl *fileSet) damagedFiles() []DamagedFile {
	fl.asideMu.Lock()
	defer fl.asideMu.Unlock()
	var present []DamagedFile
	for _, f := range fl.aside {
		_, err := os.Lstat(filepath.Join(fl.opt.Dir, f.Name))
		if err == nil || !strings.HasSuffix(f.Name, damagedSuffix) {
			present = append(present, f)
		}
	}
	return present
}

// DamagedFiles lists the damaged files that were set aside, in this start or earlier
// ones, until they are removed. It is cheap.
func (db *DB) DamagedFiles() (list []DamagedFile) {
	for _, ks := range db.keys {
		list = append(list, ks.files.damagedFiles()...)
	}
	return list
}

// noteDamage adds a file to the list, once.
func (fl *fileSet) noteDamage(name, cost string) {
	fl.asideMu.Lock()
	defer fl.asideMu.Unlock()
	f := DamagedFile{Name: name, Cost: cost}
	if !slices.Contains(fl.aside, f) {
		fl.aside = append(fl.aside, f)
	}
}

// noteLostDomains remembers that counts of link domains are lost.
func (f *fileSet) noteLostDomains(name string) {
	if t, own := parseOwnPath(name); own && t.kind == domainFilter {
		f.asideMu.Lock()
		f.domainsLost = true
		f.asideMu.Unlock()
	}
}

// findDamaged lists what earlier starts have set aside.
func (f *fileSet) findDamaged(entries []os.DirEntry) {
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), damagedSuffix); ok {
			f.noteDamage(e.Name(), costOf(name))
		}
	}
}

// expendable reports whether the loss of a file costs no reports of this site.
func expendable(name string) bool {
	t, own := parseOwnPath(name)
	switch {
	case own:
		return t.kind == classFilter || t.kind == countFilter || t.kind == domainFilter
	case strings.HasPrefix(name, "site-"), isNeverPath(name), name == clockFile, name == segmentsFile:
		return true
	}
	_, votes := parseOwnVotesPath(name)
	_, mask := parseMaskPath(name)
	return votes || mask
}

// costOf describes what a file held.
func costOf(name string) string {
	t, own := parseOwnPath(name)
	_, votes := parseOwnVotesPath(name)
	_, mask := parseMaskPath(name)
	switch {
	case own && t.kind == countFilter:
		return "how often this site saw messages in one period"
	case own && t.kind == domainFilter:
		return "this site's counts of link domains"
	case own && t.kind == classFilter:
		return "the classes of this site's reports of one period"
	case own:
		return "reports and revocations of this site that neither journal nor ledger hold"
	case votes:
		return "some of this site's votes for sites that trust it by vote"
	case mask:
		return "the retouched messages of one period: retouch them again"
	case isVotesPath(name):
		return "another site's votes, until it publishes them again"
	case strings.HasPrefix(name, "site-"):
		return "another site's reports and counts, until they are read again from Redis"
	case isNeverPath(name):
		return "one message of the never-list: declare it again with spambloom never"
	case name == clockFile:
		return clockCost
	case name == "identity":
		return "which sites are muted, perhaps: look whether all still are"
	case name == segmentsFile:
		return "whether the journal was whole at this start"
	case strings.HasPrefix(name, "journal-"):
		return "changes that no snapshot had yet; spambloomd --repair restores what the ledger holds of them"
	}
	return "what it held; spambloomd --repair has said how much of it"
}

// contain sets a damaged file aside if its loss costs no reports of this site, and
// returns nil. Any other error comes back.
func (f *fileSet) contain(err error) error {
	var damage *DamageError
	if !errors.As(err, &damage) {
		return err
	}
	name := filepath.Base(damage.Path)
	if !expendable(name) {
		return err
	}
	if err := os.Rename(damage.Path, damage.Path+damagedSuffix); err != nil {
		return errors.Join(damage, fmt.Errorf("set aside: %w", err))
	}
	if err := syncDir(filepath.Dir(damage.Path)); err != nil {
		return err
	}
	f.asideMu.Lock()
	delete(f.saved, damage.Path)
	f.asideMu.Unlock()
	f.noteLostDomains(name)
	f.noteDamage(name+damagedSuffix, costOf(name))
	f.opt.Log.Error("a damaged file is set aside", "path", damage.Path+damagedSuffix, "cost", costOf(name), "error", err)
	return nil
}

// missing takes note of a file that a snapshot named and that is gone. It is damage,
// unless a start set the file aside and a crash came before the next snapshot.
func (f *fileSet) missing(name string, entries []os.DirEntry) error {
	set := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name+damagedSuffix })
	switch {
	case expendable(name) && set:
		f.noteLostDomains(name)
		return nil
	case expendable(name):
		f.noteLostDomains(name)
		f.noteDamage(name, costOf(name))
		f.opt.Log.Error("a file of the state folder is missing", "path", filepath.Join(f.opt.Dir, name), "cost", costOf(name))
		return nil
	case f.mending != nil:
		return f.mendMissing(filepath.Join(f.opt.Dir, name), errMissing, costOf(name))
	}
	return damaged(filepath.Join(f.opt.Dir, name), 0, errMissing)
}

// dropDomains forgets all counts of link domains when those of one period are lost. What
// is left would have campaigns without the sightings that make a domain ordinary. The
// journal's records of before are not counted again either.
func (ks *keyspace) dropDomains() error {
	if !ks.files.domainsLost {
		return nil
	}
	return ks.store.change(func(v *view) error {
		return v.editAll(func(g *reportGeneration) { g.domains = nil }, func(*countGeneration) {})
	})
}

// dropOrigin forgets what was read of another site's damaged file: its listings may
// have come without the revocations behind them. Its stream is read from the begin.
func (ks *keyspace) dropOrigin(o origin) error {
	of := func(p sitePart) bool { return p.origin == o }
	delete(ks.peers.sites, o)
	return ks.store.change(func(v *view) error {
		return v.editAll(func(g *reportGeneration) {
			for _, kind := range reportKinds {
				g.listing(kind).dropParts(of, v.trusted)
			}
		}, func(g *countGeneration) { g.parts = slices.DeleteFunc(g.parts, of) })
	})
}

// dropParts takes parts out of a listing and joins those that are left anew.
func (l *listing) dropParts(of func(sitePart) bool, trusted *trustedSites) {
	if !slices.ContainsFunc(l.parts, of) {
		return
	}
	shape := l.others.Shape()
	l.others = nil
	if l.parts = slices.DeleteFunc(l.parts, of); len(l.parts) == 0 {
		return
	}
	others, err := filter.NewBits(shape)
	if err != nil {
		panic(err) // the shape is that of a filter
	}
	for _, p := range trusted.only(l.parts) {
		p.joinTo(others)
	}
	l.others = others
}
