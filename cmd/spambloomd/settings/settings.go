// Package settings owns the configuration with the flags applied, all checks that change
// nothing, and the options that the daemon's packages get from it. It opens nothing, and makes
// no key.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/privacy"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/reporting/server"
)

// Settings are the configuration with the flags applied, and values derived from both.
type Settings struct {
	*config.Config
	File           string // "": no file was read
	Data           string // state folder
	Name           string
	KeyFile        string // file of the federation's key
	SigningKeyFile string // file of this site's own key

	PreviousKeyFile string // file of the previous federation key; "": none

	Members wire.Members // trusted sites; nil: all
	handed  bool         // systemd passes sockets

	repairing bool // --repair or --restore: key files may be damaged or missing

	Whiteclnt []policy.Allow // rules of DCC's whitelist
	Skipped   []error        // lines of it that were skipped

	Reload func() (*Settings, error) // reads the current file with the same flags
}

// New reads the configuration and checks everything that can be checked without
// changing anything. Changed reports whether a flag was given.
func New(f Flags, changed func(flag string) bool) (*Settings, error) {
	return makeSettings(f, changed, SocketsHanded() || len(f.Passed) > 0, config.DefaultPath)
}

// makeSettings reads the file at usual if no other is named and it exists.
func makeSettings(f Flags, changed func(flag string) bool, handed bool, usual string) (*Settings, error) {
	s := &Settings{File: f.Config, Data: StateFolder(f.Data), handed: handed, repairing: f.Repair || f.Restore != ""}
	if err := s.load(usual); err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: err}
	}
	s.Reload = func() (*Settings, error) {
		f.Config = s.File // a file that disappeared must not count as never present
		return makeSettings(f, changed, handed, usual)
	}
	if err := s.Environment(); err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: err}
	}
	for _, o := range []struct {
		flag, key string
		value     any
	}{
		{"listen", "milter.listen", f.Listen},
		{"control", "control.listen", f.Control},
		{"http", "http.listen", f.HTTP},
		{"redis", "redis.url", f.Redis},
		{"site", "site.name", f.Site},
	} {
		if !changed(o.flag) {
			continue
		}
		if err := s.Override(o.key, "--"+o.flag, o.value); err != nil {
			return nil, &exit.Failure{Code: exit.Config, Err: err}
		}
	}
	s.Name = s.SiteName()
	files := s.Files(s.Data)
	s.KeyFile, s.PreviousKeyFile, s.SigningKeyFile = files.Federation, files.Previous, files.Signing
	if s.Control.Listen == "" {
		s.Control.Listen = "unix:" + s.controlSocket()
	}
	if err := s.check(); err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: err}
	}
	return s, nil
}

// load reads the named file, otherwise the usual one if it exists.
func (s *Settings) load(usual string) (err error) {
	if s.File != "" {
		s.Config, err = config.Load(s.File)
		return err
	}
	s.Config, err = config.Load(usual)
	if errors.Is(err, fs.ErrNotExist) {
		s.Config = config.Default()
		return nil
	}
	s.File = usual
	return err
}

// StateFolder returns the folder of --data, otherwise the one created by systemd, otherwise
// the distribution's usual place for root, or one below the working folder.
func StateFolder(flag string) string {
	if flag != "" {
		return flag
	}
	if made, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); made != "" {
		return made
	}
	if os.Geteuid() == 0 {
		return "/var/lib/spambloom"
	}
	return "spambloom-data"
}

// controlSocket returns the default place of the socket: the runtime folder created by
// systemd, which other users may enter; otherwise the state folder, which they may not. The
// command spambloom looks in both.
func (s *Settings) controlSocket() string {
	if made, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":"); made != "" {
		return filepath.Join(made, "control.sock")
	}
	return filepath.Join(s.Data, "spambloom.sock")
}

// check rejects invalid values that the table of keys treats as text.
func (s *Settings) check() error {
	var errs []error
	fault := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Where(key), err))
		}
	}
	if len(s.Milter.Listen) == 0 {
		fault("milter.listen", errors.New("no address; at least one is required"))
	}
	for _, spec := range s.Milter.Listen {
		_, _, err := socket.Parse(spec)
		fault("milter.listen", err)
	}
	_, err := socket.ParseUnix(s.Control.Listen)
	fault("control.listen", err)
	_, err = socket.LookupGroup(s.Control.Group)
	fault("control.group", err)
	_, err = socket.LookupGroup(s.Milter.Group)
	fault("milter.group", err)
	if s.HTTP.Listen != "" {
		_, _, err := socket.Parse(s.HTTP.Listen)
		if errors.Is(err, socket.ErrForm) {
			err = fmt.Errorf("address %q: want HOST:PORT", s.HTTP.Listen)
		}
		fault("http.listen", err)
	}
	if s.Site.FederationKey != "" && !s.repairing {
		_, err := keyring.ReadKey(s.KeyFile)
		fault("site.federation_key", s.checkKey(s.KeyFile, err))
	}
	if !s.repairing {
		fault("site.previous_federation_key", s.checkRollover())
	}
	if s.Site.SigningKey != "" && !s.repairing {
		_, err := keyring.ReadSigningKey(s.SigningKeyFile)
		fault("site.signing_key", s.checkKey(s.SigningKeyFile, err))
	}
	if err := s.trustModel().Check(); err != nil {
		fault("reports.newcomer_weight", err)
	}
	if !s.handed {
		errs = append(errs, s.checkAddresses(), s.CheckListeners(slices.Concat(s.Milter.Listen, s.Spamd.Listen)))
	}
	return errors.Join(append(errs, s.checkSpamd(), s.readWhiteclnt(), s.checkRemote(), s.checkRedis(), s.readPeers())...)
}

// checkKey accepts a missing key that the start will create, if its folder exists or is
// created with the state folder.
func (s *Settings) checkKey(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && !within(folder, s.Data) {
		return fmt.Errorf("%s: folder %s does not exist", path, folder)
	}
	return nil
}

// within reports whether path is folder or below it.
func within(folder, path string) bool {
	folder, folderErr := filepath.Abs(folder)
	path, pathErr := filepath.Abs(path)
	if folderErr != nil || pathErr != nil {
		return false
	}
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}

// AccessOptions returns the permissions on a control socket of that group. A group deleted
// since the start has no number and no members.
func (s *Settings) AccessOptions(group string) server.AccessOptions {
	gid, err := socket.LookupGroup(group)
	if err != nil {
		gid = -1
	}
	return server.AccessOptions{
		Group:     group,
		GID:       gid,
		Delegates: s.Control.Delegates,
		DaemonUID: os.Geteuid(),
	}
}

// DatabaseOptions returns the options of the database under a federation key.
func (s *Settings) DatabaseOptions(key [32]byte, log *slog.Logger) bloomdb.Options {
	now, elapsed := clocks()
	return bloomdb.Options{
		Now:     now,
		Elapsed: elapsed,

		Dir:  s.Data,
		Site: s.Name,
		Key:  key,
		Reports: bloomdb.ReportOptions{
			Period:          s.Reports.Period,
			Keep:            int(s.Reports.Keep),
			Capacity:        s.Reports.Capacity,
			MaxErrorPerMail: s.Reports.MaxErrorPerMail,
			Classes:         s.Reports.Classes,
			NoSketches:      !s.Reports.Sketches,
			NoShapes:        !s.Reports.Shapes,
			NoCommonness:    !s.Reports.Commonness,
		},
		Counts: bloomdb.CountOptions{
			Period:   s.Bulk.Period,
			Keep:     int(s.Bulk.Keep),
			Capacity: s.Bulk.Capacity,
			Burst:    s.Bulk.Burst,
		},
		Domains:  s.domainOptions(),
		Members:  s.Members,
		Votes:    int(s.Reports.Votes),
		Exchange: s.Redis.URL != "",
		Log:      log,
	}
}

func (s *Settings) domainOptions() bloomdb.DomainOptions {
	o := bloomdb.DomainOptions{Campaigns: int(s.Domains.Campaigns), NeverAlone: s.Domains.NeverAlone}
	if !s.Domains.Alone {
		o.Campaigns = -1
	}
	return o
}

// Logger writes lines to w. A reload can change its level and its use of pseudonyms.
func (s *Settings) Logger(w io.Writer, level *slog.LevelVar, names *privacy.Pseudonyms) *slog.Logger {
	level.Set(s.LogLevel())
	names.IsOn.Store(s.Log.Privacy)
	o := &slog.HandlerOptions{Level: level}
	if s.Log.Format == "json" {
		return slog.New(names.Handler(slog.NewJSONHandler(w, o)))
	}
	return slog.New(names.Handler(slog.NewTextHandler(w, o)))
}

// LogLevel returns the least level of lines in the log.
func (s *Settings) LogLevel() (level slog.Level) {
	if err := level.UnmarshalText([]byte(s.Log.Level)); err != nil {
		panic(err) // the table of keys allows slog's names only
	}
	return level
}

// KeyFiles returns the site's key files, and the files for the connection with Redis.
func (s *Settings) KeyFiles() []string {
	files := []string{s.KeyFile, s.SigningKeyFile, s.PreviousKeyFile, s.Redis.CA, s.Redis.Cert, s.Redis.Key}
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}
