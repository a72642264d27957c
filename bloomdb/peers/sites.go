package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
)

// MaxMuted is the largest number of muted sites.
const MaxMuted = 4096

// Begin sets the muted sites of the identity. It must be called before any file of another site is
// read.
func (ps *Peers) Begin(id folder.Identity) error {
	for i, m := range id.Muted {
		if !layout.ValidSite(m.Site) || m.Site == id.Site || i >= MaxMuted || i > 0 && id.Muted[i-1].Site >= m.Site {
			return folder.Damaged(folder.IdentityPath(ps.opt.Dir), 0, fmt.Errorf("muted site %d is %.80q", i, m.Site))
		}
	}
	return ps.store.Change(func(v *store.View) error {
		v.Trusted = &store.TrustedSites{Members: ps.sealer.Members, Muted: id.Muted}
		return nil
	})
}

func (ps *Peers) SetMuted(site string, on bool) error {
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

// Drops returns how often positions went back to the beginning since the start: by Drop and Rewind.
func (ps *Peers) Drops() uint64 { return ps.drops.Load() }

func (ps *Peers) CheckMute(site string) error {
	switch {
	case !layout.ValidSite(site):
		return fmt.Errorf("site name %.80q: must be 1 to 64 characters of a-z A-Z 0-9 . _ -", site)
	case site == ps.opt.Site:
		return fmt.Errorf("site %s is this one", site)
	}
	return nil
}

// mute mutes a site that may be muted already. The caller holds sitesMu.
func (ps *Peers) mute(site string) error {
	v := ps.store.View.Load().Trusted
	if _, muted := v.Find(site); !muted {
		if len(v.Muted) >= MaxMuted {
			return fmt.Errorf("%d sites are muted, must be at most %d", len(v.Muted), MaxMuted)
		}
		v = v.With(folder.MutedSite{Site: site, Since: ps.opt.Now().Unix()}, true)
		if err := ps.pub.SetMuted(ps.opt.Dir, v.Muted, ""); err != nil {
			return err
		}
		_ = ps.store.Change(func(view *store.View) error { return view.SetTrusted(v) })
	}
	return ps.store.Rejoin(site)
}

// unmute joins the site's bits before it is trusted again. The caller holds sitesMu.
func (ps *Peers) unmute(site string) error {
	v := ps.store.View.Load().Trusted
	m, muted := v.Find(site)
	if !muted {
		return nil
	}
	if m.Dropped {
		if err := ps.removeFiles(site); err != nil {
			return err
		}
	}
	next := v.With(m, false)
	if err := ps.pub.SetMuted(ps.opt.Dir, next.Muted, ""); err != nil {
		return err
	}
	if next.Includes(site) {
		ps.store.JoinAgain(site)
	}
	return ps.store.Change(func(v *store.View) error { return v.SetTrusted(next) })
}

// Drop deletes the data of a muted site. It calls forget with the site's epochs before it removes
// their files.
func (ps *Peers) Drop(site string, forget func(epochs []layout.Origin)) error {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	trusted := ps.store.View.Load().Trusted
	m, _ := trusted.Find(site)
	m.Site, m.Dropped = site, true
	trusted = trusted.With(m, true)
	if err := ps.pub.SetMuted(ps.opt.Dir, trusted.Muted, site); err != nil {
		return err
	}
	_ = ps.store.Change(func(v *store.View) error {
		v.Trusted = trusted
		return v.DropParts(func(p store.SitePart) bool { return p.Origin.Site == site })
	})
	var epochs []layout.Origin
	for o := range ps.sites {
		if o.Site == site {
			delete(ps.sites, o)
			epochs = append(epochs, o)
		}
	}
	forget(epochs)
	ps.forgetUses(site)
	ps.store.Measured.ForgetSite(site)
	if err := ps.removeFiles(site); err != nil {
		return err
	}
	ps.drops.Add(1)
	return nil
}

// removeFiles deletes the files of a site that is no longer in memory.
func (ps *Peers) removeFiles(site string) error {
	entries, err := os.ReadDir(ps.opt.Dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	for _, e := range entries {
		if !store.IsSiteFile(e.Name(), site) {
			continue
		}
		if e := os.Remove(filepath.Join(ps.opt.Dir, e.Name())); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, folder.Sync(ps.opt.Dir))
}
