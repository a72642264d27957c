package repair

import (
	"os"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Files is the files of one keyspace's folder that Open finds, and the damaged ones among
// them, which are set aside.
type Files struct {
	Opt *layout.Settings

	asideMu     sync.Mutex           // guards aside and DomainsLost, and saved while Open reads files
	aside       []folder.DamagedFile // see DamagedFiles
	DomainsLost bool                 // counts of link domains were damaged: they begin anew
	Mending     *Mending             // while Repair opens the folder; else nil

	Saved map[string]folder.Saved // what is on disk, by path
}

// LoadGenerations has the files among a folder's entries loaded. It passes over those that
// the identity does not name: they were being written at a crash, or a program that does
// not know them had the folder since.
func (fl *Files) LoadGenerations(f folder.GenerationFiles, entries []os.DirEntry, named []string, load func(path string, gen int64) error) error {
	for _, e := range entries {
		gen, ok := f.Parse(e.Name())
		if !ok {
			continue
		}
		path := f.Path(fl.Opt.Dir, gen)
		fl.Saved[path] = folder.Saved{} // on disk, and to be written again or removed
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

// MendMissing gives a file up that is missing.
func (f *Files) MendMissing(path string, fault error, cost string) error {
	if err := folder.LeaveMark(path); err != nil {
		return err
	}
	f.Mending.Note(path, fault.Error(), cost)
	return nil
}
