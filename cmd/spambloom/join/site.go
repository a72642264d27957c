package join

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// site is this site, as its files describe it.
type site struct {
	*config.Config
	file  *change.File // the configuration
	name  string
	state string // the daemon's folder
	files config.Files
	key   ed25519.PrivateKey
}

func open(p verb.Place) (*site, error) {
	file, err := change.Read(p.Config)
	if err != nil {
		return nil, fault(err)
	}
	s := &site{file: file, Config: config.Default()}
	if !file.IsNew {
		if s.Config, err = config.Load(p.Config); err != nil {
			return nil, fault(err)
		}
	}
	s.name = s.SiteName()
	if s.state, err = filepath.Abs(p.State()); err != nil { // the daemon runs in another folder
		return nil, err
	}
	s.files = s.Files(s.state)
	if s.key, err = signingKey(s.files.Signing); err != nil {
		return nil, err
	}
	return s, nil
}

// signingKey reads the site's key, or makes it like the first start of the daemon.
func signingKey(path string) (ed25519.PrivateKey, error) {
	key, err := keyring.ReadSigningKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, fault(err)
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); err != nil {
		return nil, &verb.Fault{Code: verb.NoInput, Err: err, Hint: "start the daemon once, which makes the folder and the keys (systemctl start spambloom), or name the folder with --data"}
	}
	if key, err = keyring.NewSigningKey(); err != nil {
		return nil, err
	}
	if err := keyring.WriteSigningKey(path, key); err != nil {
		return nil, &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	return key, own(path, dir)
}

// own gives a new file the owner of another one, so that the daemon's user can read it. The folder
// may be the daemon's, whose user must not get another file by a link in the place of this one.
func own(path, like string) error {
	uid, gid, ok := change.Owner(like)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	if err := os.Lchown(path, uid, gid); err != nil {
		return &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	return nil
}

func (s *site) peer() invitation.Peer {
	return invitation.Peer{Name: s.name, Key: keyring.PublicKey(s.key)}
}

func (s *site) parameters() invitation.Parameters {
	r := s.Reports
	return invitation.Parameters{Period: r.Period.String(), Keep: r.Keep, Capacity: r.Capacity, MaxErrorPerMail: r.MaxErrorPerMail}
}

// peerNamed returns the [[peer]] of a site.
func (s *site) peerNamed(name string) (config.Peer, bool) {
	for _, p := range s.Peers {
		if p.Name == name {
			return p, true
		}
	}
	return config.Peer{}, false
}

// newPeers returns the [[peer]] tables to be added for other sites. A site that is there
// with another key is an error: one of the two is not that site.
func (s *site) newPeers(others []invitation.Peer, trust string) (fresh []config.Peer, err error) {
	for _, o := range others {
		if o == s.peer() {
			continue
		}
		if o.Name == s.name || o.Key == s.peer().Key {
			return nil, invalid("%s has the name or the key of this site, %s; each site has its own (set site.name; spambloom keygen makes a key)", o.Name, s.name)
		}
		known, ok := s.peerNamed(o.Name)
		switch {
		case !ok:
			fresh = append(fresh, config.Peer{Name: o.Name, Key: o.Key, Trust: trust})
		case known.Key != o.Key && known.NextKey != o.Key:
			return nil, invalid("the [[peer]] of %s in %s has another key; ask its administrator for the fingerprint (here it is %s), and remove the table if it is wrong", o.Name, s.file.Path, o.Fingerprint())
		}
	}
	return fresh, nil
}

// peersOf returns the [[peer]] tables to be added for the member and its peers. Unless the
// administrator names a trust, a site that only votes at the member only votes here.
func (s *site) peersOf(i *invitation.Invitation, trust string) ([]config.Peer, error) {
	fresh, err := s.newPeers(append([]invitation.Peer{i.Peer}, i.Peers...), trust)
	for n := range fresh {
		if trust == "" && slices.Contains(i.Votes, fresh[n].Name) {
			fresh[n].Trust = "vote"
		}
	}
	return fresh, err
}

// show hides the password in a line of the configuration.
func show(line string) string { return config.WithoutURL(line) }

// fault returns the error of a file with its exit code.
func fault(err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &verb.Fault{Code: verb.NoPerm, Err: err, Hint: "run it as root, or as the daemon's user"}
	case errors.As(err, &path):
		return &verb.Fault{Code: verb.NoInput, Err: err}
	}
	return &verb.Fault{Code: verb.Data, Err: err}
}

// invalid returns an error about what the two lines and the configuration contain.
func invalid(format string, args ...any) error {
	return &verb.Fault{Code: verb.Data, Err: fmt.Errorf(format, args...)}
}
