package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// restore restores a backup into the empty state folder. It prints the backup's content and
// what the next start also needs.
func restore(s *settings, path string, stdin io.Reader, stdout io.Writer) error {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &failure{exNoInput, err}
		}
		defer f.Close()
		in = f
	}
	sum, err := backup.Restore(in, s.data)
	if err != nil {
		return &failure{restoreCode(err), err}
	}
	fmt.Fprintf(stdout, "%s: restored\n%s", s.data, sum)
	if sum.Site != s.site {
		fmt.Fprintf(stdout, "the state belongs to site %q, but the configuration names %q: start with site.name = %q; for renaming a site see contrib/backup.md\n",
			sum.Site, s.site, sum.Site)
	}
	for _, key := range s.keyFiles() {
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
		return exData
	case errors.Is(err, backup.ErrNotEmpty):
		return exCantCreate
	}
	return exIOErr
}

// keyFiles returns the site's key files.
func (s *settings) keyFiles() []string {
	files := []string{s.key, s.sign}
	if s.previousKey != "" {
		files = append(files, s.previousKey)
	}
	return files
}
