package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/reporting/backup"
)

// checkState returns why the start would refuse the state folder, if that can be seen without
// changing anything: the folder's permissions, its keys, and the site, key, periods and versions
// of its files. A daemon may run with the folder. Damaged data is found by spambloom fsck.
func checkState(s *settings) error {
	if err := folder.CheckAccess(s.data); err != nil {
		return &failure{exCantCreate, err}
	}
	if err := backup.Check(s.data); err != nil {
		return &failure{exIOErr, err}
	}
	key, err := checkStateKeys(s)
	if err != nil {
		return err
	}
	options := s.databaseOptions(key, slog.New(slog.DiscardHandler))
	if options.PreviousKey, err = openPreviousKey(s); err != nil {
		return err
	}
	if err := bloomdb.CheckOptions(options); err != nil {
		return &failure{exIOErr, err}
	}
	return nil
}

// checkStateKeys returns the federation key, if the keys are those of the folder. Missing ones
// of a new folder are made by the start.
func checkStateKeys(s *settings) (key [32]byte, err error) {
	signing, err := keyring.ReadSigningKey(s.sign)
	public := ""
	if err == nil {
		public = keyring.PublicKey(signing)
	}
	if damage := checkDamagedSigningKey(s, public, err); errors.Is(damage, errDamagedKey) {
		return key, &failure{exIOErr, damage}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, &failure{exConfig, fmt.Errorf("%s: %w", s.Where("site.signing_key"), err)}
	}
	key, err = keyring.ReadKey(s.key)
	if damage := checkDamagedKey(s, s.key, key, err); errors.Is(damage, errDamagedKey) {
		return key, &failure{exIOErr, damage}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if !folder.HasState(s.data) {
			return key, nil
		}
		err = fmt.Errorf("%w: %w", errLostKey, err)
	}
	if err != nil {
		return key, &failure{exConfig, fmt.Errorf("%s: %w", s.Where("site.federation_key"), err)}
	}
	return key, nil
}
