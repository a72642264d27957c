package state

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/backup"
)

// Check returns why the start would refuse the state folder, if that can be seen without
// changing anything: the folder's permissions, its keys, and the site, key, periods and versions
// of its files. A daemon may run with the folder. Damaged data is found by spambloom fsck.
func Check(s *settings.Settings) error {
	if err := folder.CheckAccess(s.Data); err != nil {
		return &exit.Failure{Code: exit.CantCreate, Err: err}
	}
	if err := backup.Check(s.Data); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	if backup.IsWaiting(s.Data) {
		return nil // a crash interrupted its last step: the start completes it, and has its keys only then
	}
	if err := refuseNewer(s); err != nil {
		return err
	}
	key, err := checkStateKeys(s)
	if err != nil {
		return err
	}
	options := s.DatabaseOptions(key, slog.New(slog.DiscardHandler))
	if options.PreviousKey, err = openPreviousKey(s); err != nil {
		return err
	}
	if err := bloomdb.CheckOptions(options); err != nil {
		return &exit.Failure{Code: exit.IOErr, Err: err}
	}
	return nil
}

// checkStateKeys returns the federation key, if the keys are those of the folder. Missing ones
// of a new folder are made by the start.
func checkStateKeys(s *settings.Settings) (key [32]byte, err error) {
	signing, err := keyring.ReadSigningKey(s.SigningKeyFile)
	public := ""
	if err == nil {
		public = keyring.PublicKey(signing)
	}
	if damage := checkDamagedSigningKey(s, public, err); errors.Is(damage, ErrDamagedKey) {
		return key, &exit.Failure{Code: exit.IOErr, Err: damage}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("site.signing_key"), err)}
	}
	key, err = keyring.ReadKey(s.KeyFile)
	if damage := checkDamagedKey(s, s.KeyFile, key, err); errors.Is(damage, ErrDamagedKey) {
		return key, &exit.Failure{Code: exit.IOErr, Err: damage}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if !folder.HasState(s.Data) {
			return key, nil
		}
		err = fmt.Errorf("%w: %w", ErrLostKey, err)
	}
	if err != nil {
		return key, &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("site.federation_key"), err)}
	}
	return key, nil
}
