package main

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/ledger"
)

const exitCodes = `Exit codes:
  0   stopped by a signal
  64  wrong usage
  65  the file for --restore is not a complete backup
  66  the file for --restore cannot be read
  73  a socket or the state folder could not be created, or the folder is not empty for --restore
  74  the state folder is damaged or the disk failed
  75  the state folder or an address is in use by another process
  77  no permission
  78  wrong configuration
A second signal during the stop ends the process by that signal: 143 or 130 in a shell.`

// exitCode is the only place that maps errors to exit codes.
func exitCode(err error) int {
	var f *exit.Failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f) && (f.Code == exit.Usage || f.Code == exit.Config || f.Code == exit.Data || f.Code == exit.NoInput):
		return f.Code
	case errors.Is(err, bloomdb.ErrIdentity):
		return exit.Config
	case errors.Is(err, bloomdb.ErrLocked), errors.Is(err, syscall.EADDRINUSE):
		return exit.TempFail
	case errors.Is(err, fs.ErrPermission):
		return exit.NoPerm
	case f != nil:
		return f.Code
	}
	return exit.IOErr
}

// hint returns advice for common mistakes.
func hint(err error) string {
	var f *exit.Failure
	var damage *bloomdb.DamageError
	switch {
	case errors.Is(err, bloomdb.ErrLocked):
		return "another spambloomd runs with this folder; stop it, or choose a folder with --data"
	case errors.Is(err, bloomdb.ErrIdentity):
		return "use the previous name and periods; for another key, set previous_federation_key, as spambloom join does; contrib/backup.md shows how to rename a site"
	case errors.Is(err, backup.ErrNotEmpty):
		return "move the existing files away, or name another folder with --data; a backup is never merged with existing state"
	case errors.Is(err, backup.ErrUnfinished):
		return "wait if the restore is still running; if it was interrupted, run spambloomd --restore again, or remove that folder to start without it"
	case errors.As(err, &f) && f.Code == exit.Data:
		return "nothing was restored; take another backup"
	case errors.Is(err, state.ErrLostKey):
		return "copy the key from another site or a backup"
	case errors.Is(err, bloomdb.ErrNewer):
		return "run the newer version of spambloom that wrote the file; --repair does not change it"
	case errors.As(err, &damage), errors.Is(err, ledger.ErrDamaged), errors.Is(err, state.ErrDamagedKey):
		return "run spambloomd --repair, with the daemon's flags and as its user: it restores data from journal and ledger, and reports what is lost"
	case errors.Is(err, ledger.ErrVersion):
		return "run the version of spambloomd that made reports.db, because --repair does not change it; or move the file away and run --repair: listed messages stay listed, but their reporters are lost"
	case errors.Is(err, syscall.EADDRINUSE):
		return "choose another address with --listen, --control or --http, or in the configuration"
	case errors.As(err, &f) && f.Code == exit.Usage:
		return "see spambloomd --help"
	}
	return ""
}
