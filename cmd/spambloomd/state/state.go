// Package state opens, checks, repairs and restores the state folder: its keys, the database and
// the ledger of reports.
//
//	Open      the start: a new folder gets its keys
//	Check     -t: why the start would refuse the folder; nothing is changed
//	Repair    --repair: data of damaged files from what is left of them, and from the ledger
//	Restore   --restore: a backup into an empty folder
//
// It owns the order of these steps. The files belong to packages bloomdb and ledger.
package state

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// State is the open content of the state folder. The start and --repair use only this.
type State struct {
	Options bloomdb.Options
	DB      *bloomdb.DB
	Reports *ledger.Ledger
}

// Open opens keys, database and ledger. In a new folder it creates them.
func Open(s *settings.Settings, log *slog.Logger) (*State, error) {
	if err := refuseNewer(s); err != nil {
		return nil, err
	}
	options, err := openKeys(s, log)
	if err != nil {
		return nil, err
	}
	db, err := bloomdb.Open(options)
	if err != nil {
		return nil, &exit.Failure{Code: exit.IOErr, Err: err}
	}
	reports, err := openLedger(s, log)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := db.AddCompanion(s.LedgerOptions(log).Path, reports.LastReport, nil); err != nil {
		return nil, errors.Join(&exit.Failure{Code: exit.IOErr, Err: err}, reports.Close(), db.Close())
	}
	return &State{options, db, reports}, nil
}

// refuseNewer returns an error if a newer version wrote a file of the folder, before anything in the folder
// is changed.
func refuseNewer(s *settings.Settings) error {
	if err := bloomdb.RefuseNewer(s.Data); errors.Is(err, bloomdb.ErrNewer) { // the next steps report other errors
		return &exit.Failure{Code: exit.IOErr, Err: fmt.Errorf("state folder: %w", err)}
	}
	path := s.LedgerOptions(nil).Path
	if err := ledger.CheckVersion(path); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: fmt.Errorf("ledger %s: %w", path, err)}
	}
	return nil
}

// Close closes both: the ledger first, because the database records its decisions.
func (st *State) Close() error {
	var err error
	for _, e := range []error{st.Reports.Close(), st.DB.Close()} {
		if e != nil {
			err = errors.Join(err, &exit.Failure{Code: exit.IOErr, Err: e})
		}
	}
	return err
}

// openLedger opens the ledger of reports in the state folder.
func openLedger(s *settings.Settings, log *slog.Logger) (*ledger.Ledger, error) {
	l, err := ledger.Open(s.LedgerOptions(log))
	if err != nil {
		return nil, &exit.Failure{Code: exit.IOErr, Err: err}
	}
	return l, nil
}

// IsInUse reports whether a process has the state folder open. It changes nothing.
func IsInUse(s *settings.Settings) bool {
	file, err := os.Open(filepath.Join(s.Data, "lock"))
	if err != nil {
		return false
	}
	defer file.Close() // and with it a lock
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
