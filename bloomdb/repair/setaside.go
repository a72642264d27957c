package repair

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// DamagedFiles returns the damaged and missing files of one keyspace.
func (fl *Files) DamagedFiles() []folder.DamagedFile {
	fl.asideMu.Lock()
	defer fl.asideMu.Unlock()
	var present []folder.DamagedFile
	for _, f := range fl.aside {
		_, err := os.Lstat(filepath.Join(fl.Opt.Dir, f.Name))
		if err == nil || !strings.HasSuffix(f.Name, folder.DamagedSuffix) {
			present = append(present, f)
		}
	}
	return present
}

// noteDamage adds a file to the list, once.
func (fl *Files) noteDamage(name, cost string) {
	fl.asideMu.Lock()
	defer fl.asideMu.Unlock()
	f := folder.DamagedFile{Name: name, Cost: cost}
	if !slices.Contains(fl.aside, f) {
		fl.aside = append(fl.aside, f)
	}
}

// noteLostDomains records that counts of link domains are lost.
func (f *Files) noteLostDomains(name string) {
	if t, own := snapshot.ParseOwnPath(name); own && t.Kind == layout.DomainFilter {
		f.asideMu.Lock()
		f.DomainsLost = true
		f.asideMu.Unlock()
	}
}

// FindDamaged adds the files that earlier starts have set aside.
func (f *Files) FindDamaged(entries []os.DirEntry) {
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), folder.DamagedSuffix); ok {
			f.noteDamage(e.Name(), CostOf(name))
		}
	}
}

// Contain sets a damaged file aside if its loss costs no reports of this site, and then returns
// nil. It returns any other error.
func (f *Files) Contain(err error) error {
	var damage *folder.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	name := filepath.Base(damage.Path)
	if !Expendable(name) {
		return err
	}
	if err := folder.SetAside(damage.Path); err != nil {
		return errors.Join(damage, fmt.Errorf("set aside: %w", err))
	}
	if err := folder.Sync(filepath.Dir(damage.Path)); err != nil {
		return err
	}
	f.asideMu.Lock()
	delete(f.Saved, damage.Path)
	f.asideMu.Unlock()
	f.noteLostDomains(name)
	f.noteDamage(name+folder.DamagedSuffix, CostOf(name))
	f.Opt.Log.Error("a damaged file is set aside", "path", damage.Path+folder.DamagedSuffix, "cost", CostOf(name), "error", err)
	return nil
}

// Missing records that a file named by the identity is missing. That is damage, unless an earlier
// start set the file aside and crashed before the next snapshot.
func (f *Files) Missing(name string, entries []os.DirEntry) error {
	set := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name+folder.DamagedSuffix })
	switch {
	case Expendable(name) && set:
		f.noteLostDomains(name)
		return nil
	case Expendable(name):
		f.noteLostDomains(name)
		f.noteDamage(name, CostOf(name))
		f.Opt.Log.Error("a file of the state folder is missing", "path", filepath.Join(f.Opt.Dir, name), "cost", CostOf(name))
		return nil
	case f.Mending != nil:
		return f.MendMissing(filepath.Join(f.Opt.Dir, name), folder.ErrMissing, CostOf(name))
	}
	return folder.Damaged(filepath.Join(f.Opt.Dir, name), 0, folder.ErrMissing)
}
