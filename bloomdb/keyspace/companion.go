package keyspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// checkCompanions returns an error for companions that are missing or empty. Repair continues
// without them; an empty NAME.damaged keeps the loss in the status until it is removed.
func (ks *Keyspace) checkCompanions(id folder.Identity) (missing error) {
	for _, name := range id.Companions {
		path := filepath.Join(ks.Settings.Dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Size() > 0:
			continue
		case err == nil:
			err = errors.New("the file is empty")
		case errors.Is(err, fs.ErrNotExist):
			err = folder.ErrMissing
		}
		if ks.Files.Mending == nil {
			missing = errors.Join(missing, folder.Damaged(path, 0, err))
			continue
		}
		if err := ks.Files.MendMissing(path, err, "all of its content"); err != nil {
			return err
		}
		ks.Outbox.ForgetReports()
	}
	return missing
}
