package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Restore restores a backup into the empty state folder. It prints the backup's content and
// what the next start also needs.
func Restore(s *settings.Settings, path string, stdin io.Reader, stdout io.Writer) error {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &exit.Failure{Code: exit.NoInput, Err: err}
		}
		defer f.Close()
		in = f
	}
	sum, err := backup.Restore(in, s.Data)
	if err != nil {
		return &exit.Failure{Code: restoreCode(err), Err: err}
	}
	fmt.Fprintf(stdout, "%s: restored\n%s", s.Data, sum)
	if sum.Site != s.Name {
		fmt.Fprintf(stdout, "the state belongs to site %q, but the configuration names %q: start with site.name = %q; for renaming a site see contrib/backup.md\n",
			sum.Site, s.Name, sum.Site)
	}
	for _, key := range s.KeyFiles() {
		if _, err := os.Stat(key); errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(stdout, "%s is missing: copy it here before the start\n", key)
		}
	}
	return nil
}

func restoreCode(err error) int {
	var damage *bloomdb.DamageError
	switch {
	case errors.Is(err, backup.ErrBackup), errors.As(err, &damage), errors.Is(err, ledger.ErrDamaged), errors.Is(err, ledger.ErrVersion):
		return exit.Data
	case errors.Is(err, backup.ErrNotEmpty), errors.Is(err, folder.ErrNotOwn):
		return exit.CantCreate
	}
	return exit.IOErr
}
