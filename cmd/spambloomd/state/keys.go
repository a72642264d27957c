package state

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/backup"
)

// openKey creates the state folder and reads the federation's key, or creates it for a new
// folder. Existing state is useless without its own key.
func openKey(s *settings.Settings, log *slog.Logger) (key [32]byte, err error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return key, &exit.Failure{Code: exit.CantCreate, Err: fmt.Errorf("state folder: %w", err)}
	}
	if err := folder.CheckOwner(s.Data); err != nil {
		return key, &exit.Failure{Code: exit.CantCreate, Err: err}
	}
	if err := backup.Finish(s.Data); err != nil {
		return key, &exit.Failure{Code: exit.IOErr, Err: err}
	}
	key, err = keyring.ReadKey(s.KeyFile)
	if damage := checkDamagedKey(s, s.KeyFile, key, err); errors.Is(damage, ErrDamagedKey) {
		return key, &exit.Failure{Code: exit.IOErr, Err: damage}
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
	case folder.HasState(s.Data), s.PreviousKeyFile != "":
		err = fmt.Errorf("%w: %w", ErrLostKey, err)
	default:
		if key, err = makeOnce(s.KeyFile, keyring.New, keyring.WriteKey, keyring.ReadKey); err == nil {
			log.Info("federation key made", "path", s.KeyFile, "id", keyring.ID(key))
		}
	}
	if err != nil {
		return key, &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("site.federation_key"), err)}
	}
	return key, nil
}

// makeOnce creates a key of either kind. If another daemon with the same file is faster, it
// returns that daemon's key.
func makeOnce[K any](path string, generate func() (K, error), write func(string, K) error, read func(string) (K, error)) (K, error) {
	key, err := generate()
	if err != nil {
		return key, err
	}
	if err := write(path, key); err != nil && !errors.Is(err, fs.ErrExist) {
		return key, err
	}
	return read(path)
}

// ErrLostKey is the error for state without its federation key.
var ErrLostKey = errors.New("the federation key of the state folder is missing")

// openSigningKey reads this site's own key, or creates it.
func openSigningKey(s *settings.Settings, log *slog.Logger) (ed25519.PrivateKey, error) {
	key, err := keyring.ReadSigningKey(s.SigningKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = makeOnce(s.SigningKeyFile, keyring.NewSigningKey, keyring.WriteSigningKey, keyring.ReadSigningKey); err == nil {
			tellMadeKey(s, log, keyring.PublicKey(key))
		}
	}
	public := ""
	if err == nil {
		public = keyring.PublicKey(key)
	}
	if damage := checkDamagedSigningKey(s, public, err); errors.Is(damage, ErrDamagedKey) {
		return nil, &exit.Failure{Code: exit.IOErr, Err: damage}
	}
	if err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("site.signing_key"), err)}
	}
	if err := s.CheckOwnPeer(key); err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: err}
	}
	return key, nil
}

// tellMadeKey logs that this site's own key was made: in place of a former one if the folder knows one.
func tellMadeKey(s *settings.Settings, log *slog.Logger, public string) {
	if former := repair.FolderSigners(s.Data); len(former) > 0 {
		log.Warn("the signing key was missing and a new one was made: sites that have the former key in a [[peer]] refuse the records of this site until they have the new one, or this site the former one",
			"path", s.SigningKeyFile, "public", public, "former", former[0])
		return
	}
	log.Info("signing key made", "path", s.SigningKeyFile, "public", public)
}

// openPreviousKey reads the previous federation key; nil: there is none.
func openPreviousKey(s *settings.Settings) (*[32]byte, error) {
	if s.PreviousKeyFile == "" {
		return nil, nil
	}
	key, err := keyring.ReadKey(s.PreviousKeyFile)
	if damage := checkDamagedKey(s, s.PreviousKeyFile, key, err); errors.Is(damage, ErrDamagedKey) {
		return nil, &exit.Failure{Code: exit.IOErr, Err: damage}
	}
	if err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", s.Where("site.previous_federation_key"), err)}
	}
	return &key, nil
}

// openKeys creates the state folder and reads the keys, which are needed to open the
// database.
func openKeys(s *settings.Settings, log *slog.Logger) (options bloomdb.Options, err error) {
	key, err := openKey(s, log)
	if err != nil {
		return options, err
	}
	options = s.DatabaseOptions(key, log)
	if options.PreviousKey, err = openPreviousKey(s); err != nil {
		return options, err
	}
	options.SigningKey, err = openSigningKey(s, log)
	return options, err
}

// ErrDamagedKey is the error for a key file that differs in one byte from the folder's key.
var ErrDamagedKey = errors.New("key file is damaged: one byte differs from the key of the state folder")

// checkDamagedKey returns ErrDamagedKey if a federation key cannot be read or is not that
// of the folder, but would be with one byte changed.
func checkDamagedKey(s *settings.Settings, path string, key [32]byte, err error) error {
	ids := idsFor(s, path)
	if errors.Is(err, keyring.ErrReadable) {
		return err
	}
	if err == nil && (len(ids) == 0 || slices.Contains(ids, keyring.ID(key))) {
		return nil
	}
	if _, ok := keyring.MendKey(path, ids); ok {
		return fmt.Errorf("%s: %w", path, ErrDamagedKey)
	}
	return err
}

// idsFor returns the ids of the folder's keys that a key file may contain: all except that
// of the other key during a roll-over.
func idsFor(s *settings.Settings, path string) []string {
	ids := repair.FolderKeys(s.Data)
	other := s.PreviousKeyFile
	if path == other {
		other = s.KeyFile
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
func checkDamagedSigningKey(s *settings.Settings, public string, err error) error {
	known := repair.FolderSigners(s.Data)
	if errors.Is(err, keyring.ErrReadable) {
		return err
	}
	if err == nil && (len(known) == 0 || slices.Contains(known, public)) {
		return nil
	}
	if _, ok := keyring.MendSigningKey(s.SigningKeyFile, known); ok {
		return fmt.Errorf("%s: %w", s.SigningKeyFile, ErrDamagedKey)
	}
	return err
}
