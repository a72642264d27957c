package join

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// plan is what join changes: the configuration, and files that it names.
type plan struct {
	config  *change.File
	ca      *change.File // nil: none
	key     [32]byte
	keyPath string // new file of the federation key; "": none
	keyHeld bool   // an earlier join, which was killed then, has written it
	keyLike string // file whose owner the new one gets

	rollsOver bool   // the key in use becomes the previous one
	protected string // sentence about the new rights of the configuration; "": they remain
	warnings  []string
}

// plan compares an invitation with the configuration.
func (s *site) plan(i *invitation.Invitation, key [32]byte, trust string) (*plan, error) {
	if err := checkURL(i.Redis); err != nil {
		return nil, err
	}
	p := &plan{config: s.file, key: key, keyLike: s.files.Signing}
	changes, err := s.keyChanges(p)
	if err != nil {
		return nil, err
	}
	if i.Redis != s.Redis.URL {
		changes = append(changes, config.Change{Key: "redis.url", Value: i.Redis})
	}
	caChanges, err := s.caChanges(p, i.CA)
	if err != nil {
		return nil, err
	}
	if i.Parameters.Period != s.parameters().Period && folder.HasState(s.state) {
		return nil, &verb.Fault{
			Code: verb.Data,
			Err:  fmt.Errorf("the federation has reports.period = %q, and the filters of this site are made for %q, which cannot be converted", i.Parameters.Period, s.parameters().Period),
			Hint: "rebuild the filters from the ledger of reports, with the federation's period: contrib/backup.md, as for renaming a site; then join",
		}
	}
	changes = append(append(changes, caChanges...), s.parameterChanges(p, i.Parameters)...)
	var fresh []config.Peer
	if !i.IsOpen || trust != "" || len(s.Peers) > 0 {
		if fresh, err = s.peersOf(i, trust); err != nil {
			return nil, err
		}
	}
	text, err := config.Edit(s.file.Path, string(s.file.Old), changes, fresh)
	if err != nil {
		return nil, fault(err)
	}
	s.file.New = []byte(text)
	_, had, err := invitation.WithoutPassword(i.Redis)
	s.protect(p, had || err != nil)
	return p, nil
}

// protect keeps other users of the machine from reading the password of Redis in the
// configuration. Only root can leave the file to the daemon's group.
func (s *site) protect(p *plan, hasPassword bool) {
	switch {
	case s.file.IsNew:
		s.file.Mode = 0o600
		s.file.OwnLike(s.files.Signing)
	case !hasPassword || s.file.Mode&0o007 == 0:
	case s.file.GroupLike(s.state):
		s.file.Mode = s.file.Mode&^0o007 | 0o040
		p.protected = fmt.Sprintf("mode %04o for %s, and the group of %s: the file contains the password of Redis\n", s.file.Mode, s.file.Path, s.state)
	default:
		p.warnings = append(p.warnings, fmt.Sprintf("every user of this machine can read the password of Redis in %s: chgrp --reference=%s %[1]s && chmod 640 %[1]s", s.file.Path, s.state))
	}
}

// keyChanges makes the federation's key this site's, and the key in use the previous one.
func (s *site) keyChanges(p *plan) ([]config.Change, error) {
	current, currentErr := keyring.ReadKey(s.files.Federation)
	if currentErr != nil && !errors.Is(currentErr, fs.ErrNotExist) {
		return nil, fault(currentErr)
	}
	if currentErr == nil && current == p.key {
		return nil, nil
	}
	if s.files.Previous != "" {
		return nil, s.previousFault(p.key)
	}
	p.keyPath = filepath.Join(filepath.Dir(s.files.Federation), "federation-"+keyring.ID(p.key)+".key")
	changes := []config.Change{{Key: "site.federation_key", Value: p.keyPath}}
	if currentErr == nil { // else the site has not started yet, and has no reports
		p.keyLike, p.rollsOver = s.files.Federation, true
		changes = append(changes, config.Change{Key: "site.previous_federation_key", Value: s.files.Federation})
	}
	held, err := keyring.ReadKey(p.keyPath)
	switch {
	case err == nil && held == p.key:
		p.keyHeld = true
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return nil, invalid("%s exists, and does not contain that key; move it away", p.keyPath)
	}
	return changes, nil
}

// previousFault returns the error of a site that changes its key already: it can have only
// two.
func (s *site) previousFault(key [32]byte) error {
	previous, err := keyring.ReadKey(s.files.Previous)
	if err != nil {
		return fault(err)
	}
	if previous == key {
		return &verb.Fault{
			Code: verb.Data,
			Err:  fmt.Errorf("this site is leaving the federation %s: that is its previous_federation_key", keyring.ID(key)),
			Hint: "if both sites have joined each other, one of them exchanges federation_key and previous_federation_key, here in " + s.file.Path + ", and restarts, so that both have the same new key",
		}
	}
	return &verb.Fault{
		Code: verb.Data,
		Err:  fmt.Errorf("this site is already changing its federation key, and cannot have three: previous_federation_key is %s", s.files.Previous),
		Hint: "spambloom status --json shows as previous_until when the old key may be removed from " + s.file.Path + "; earlier, reports of sites that have only that key are lost",
	}
}

// caChanges adds the CA of Redis.
func (s *site) caChanges(p *plan, ca string) (changes []config.Change, err error) {
	if ca == "" {
		return nil, nil
	}
	if s.Redis.CA != "" {
		if held, err := os.ReadFile(s.Redis.CA); err == nil && string(held) == ca {
			return nil, nil
		}
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		return nil, invalid("the CA of Redis in the line is not a certificate, so the daemon would not start; ask for a new line")
	}
	// Beside the configuration: a backup of the state folder does not contain the file.
	path, err := filepath.Abs(filepath.Join(filepath.Dir(s.file.Path), "redis-ca.pem"))
	if err != nil {
		return nil, err
	}
	if p.ca, err = change.Read(path); err != nil {
		return nil, fault(err)
	}
	p.ca.New = []byte(ca)
	if path != s.Redis.CA {
		changes = append(changes, config.Change{Key: "redis.ca", Value: path})
	}
	return changes, nil
}

// parameterChanges adopts the values of [reports] that are the same at all sites.
func (s *site) parameterChanges(p *plan, there invitation.Parameters) (changes []config.Change) {
	here := s.parameters()
	for _, v := range []struct {
		key         string
		here, there any
	}{
		{"reports.period", here.Period, there.Period},
		{"reports.keep", here.Keep, there.Keep},
		{"reports.capacity", here.Capacity, there.Capacity},
		{"reports.max_error_per_mail", here.MaxErrorPerMail, there.MaxErrorPerMail},
	} {
		if v.here != v.there {
			changes = append(changes, config.Change{Key: v.key, Value: v.there})
			p.warnings = append(p.warnings, fmt.Sprintf("%s is %v instead of %v now, as at all sites of the federation", v.key, v.there, v.here))
		}
	}
	return changes
}

func (p *plan) isEmpty() bool {
	return !p.config.IsChanged() && p.protected == "" && p.keyPath == "" && (p.ca == nil || !p.ca.IsChanged())
}

func (p *plan) diff() string {
	text := ""
	if p.keyPath != "" && !p.keyHeld {
		text = fmt.Sprintf("new file %s: the federation key %s\n", p.keyPath, keyring.ID(p.key))
	}
	if p.ca != nil {
		text += p.ca.Diff(nil)
	}
	return text + p.config.Diff(show) + p.protected
}

// write writes the configuration last, because it names the other files.
func (p *plan) write() error {
	if p.keyPath != "" && !p.keyHeld {
		if err := keyring.WriteKey(p.keyPath, p.key); err != nil {
			return &verb.Fault{Code: verb.CantCreate, Err: err}
		}
	}
	if p.keyPath != "" {
		if err := own(p.keyPath, p.keyLike); err != nil {
			return err
		}
	}
	if p.ca != nil && p.ca.IsChanged() {
		if err := write(p.ca); err != nil {
			return err
		}
	}
	if !p.config.IsChanged() && p.protected == "" {
		return nil
	}
	return write(p.config)
}
