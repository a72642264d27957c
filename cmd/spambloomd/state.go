package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// state is the open content of the state folder. The start and --repair use only this.
type state struct {
	options bloomdb.Options
	db      *bloomdb.DB
	reports *ledger.Ledger
}

// openState opens keys, database and ledger. In a new folder it creates them.
func openState(s *settings, log *slog.Logger) (*state, error) {
	options, err := openKeys(s, log)
	if err != nil {
		return nil, err
	}
	db, err := bloomdb.Open(options)
	if err != nil {
		return nil, &failure{exIOErr, err}
	}
	reports, err := openLedger(s, log)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := db.AddCompanion(s.ledgerOptions(log).Path); err != nil {
		return nil, errors.Join(&failure{exIOErr, err}, reports.Close(), db.Close())
	}
	return &state{options, db, reports}, nil
}

// openKeys creates the state folder and reads the keys, which are needed to open the
// database.
func openKeys(s *settings, log *slog.Logger) (options bloomdb.Options, err error) {
	key, err := openKey(s, log)
	if err != nil {
		return options, err
	}
	options = s.databaseOptions(key, log)
	if options.PreviousKey, err = openPreviousKey(s); err != nil {
		return options, err
	}
	options.SigningKey, err = openSigningKey(s, log)
	return options, err
}

// close closes both: the ledger first, because the database records its decisions.
func (st *state) close() error {
	var err error
	for _, e := range []error{st.reports.Close(), st.db.Close()} {
		if e != nil {
			err = errors.Join(err, &failure{exIOErr, e})
		}
	}
	return err
}

// errDamagedKey is the error for a key file that differs in one byte from the folder's key.
var errDamagedKey = errors.New("key file is damaged: one byte differs from the key of the state folder")

// checkDamagedKey returns errDamagedKey if a federation key cannot be read or is not that
// of the folder, but would be with one byte changed.
func checkDamagedKey(s *settings, path string, key [32]byte, err error) error {
	ids := idsFor(s, path)
	if errors.Is(err, keyring.ErrReadable) {
		return err
	}
	if err == nil && (len(ids) == 0 || slices.Contains(ids, keyring.ID(key))) {
		return nil
	}
	if _, ok := keyring.MendKey(path, ids); ok {
		return fmt.Errorf("%s: %w", path, errDamagedKey)
	}
	return err
}

// idsFor returns the ids of the folder's keys that a key file may contain: all except that
// of the other key during a roll-over.
func idsFor(s *settings, path string) []string {
	ids := repair.FolderKeys(s.data)
	other := s.previousKey
	if path == other {
		other = s.key
	}
	if other == "" {
		return ids
	}
	key, err := keyring.ReadKey(other)
	if err != nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == keyring.ID(key) })
}

// checkDamagedSigningKey does the same for this site's own key. A key changed on purpose
// differs in more than one byte.
func checkDamagedSigningKey(s *settings, public string, err error) error {
	known := repair.FolderSigners(s.data)
	if errors.Is(err, keyring.ErrReadable) {
		return err
	}
	if err == nil && (len(known) == 0 || slices.Contains(known, public)) {
		return nil
	}
	if _, ok := keyring.MendSigningKey(s.sign, known); ok {
		return fmt.Errorf("%s: %w", s.sign, errDamagedKey)
	}
	return err
}
