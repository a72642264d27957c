package repair

import (
	"os"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Files are the files of one keyspace's folder, and those among them that were damaged and set
// aside.
type Files struct {
	Opt *layout.Settings

	asideMu     sync.Mutex           // guards aside and DomainsLost, and saved while Open reads files
	aside       []folder.DamagedFile // see DamagedFiles
	DomainsLost bool                 // counts of link domains were damaged and begin anew
	Mending     *Mending             // not nil while Repair opens the folder

	Saved map[string]folder.Saved // state of each file on disk, by path
}

// LoadGenerations loads the files of f among a folder's entries. It skips files that the identity
// does not name. They were being written when the daemon crashed, or the folder has since been used
// by a program that does not support them.
func (fl *Files) LoadGenerations(f folder.GenerationFiles, entries []os.DirEntry, named []string, load func(path string, gen int64) error) error {
	for _, e := range entries {
		gen, ok := f.Parse(e.Name())
		if !ok {
			continue
		}
		path := f.Path(fl.Opt.Dir, gen)
		fl.Saved[path] = folder.Saved{} // on disk; the next Save writes or removes it
		if !slices.Contains(named, e.Name()) {
			continue
		}
		if err := load(path, gen); err != nil {
			if err := fl.Contain(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// MendMissing gives up a missing file, and leaves an empty NAME.damaged.
func (f *Files) MendMissing(path string, fault error, cost string) error {
	if err := folder.LeaveMark(path); err != nil {
		return err
	}
	f.Mending.Note(path, fault.Error(), cost)
	return nil
}
