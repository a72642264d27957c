package settings

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// DialOptions returns the files for the connection with Redis.
func (s *Settings) DialOptions() redisclient.Options {
	return redisclient.Options{CA: s.Redis.CA, Cert: s.Redis.Cert, Key: s.Redis.Key}
}

// ExchangeOptions returns the options of the exchange with other sites.
func (s *Settings) ExchangeOptions(log *slog.Logger) exchange.Options {
	return exchange.Options{SnapshotLimit: s.Redis.SnapshotLimit, Log: log}
}

// checkRedis checks the URL and its files. Repairing does not need Redis, and the files may be
// lost with the state folder.
func (s *Settings) checkRedis() error {
	if s.Redis.URL == "" || s.repairing {
		return nil
	}
	for _, files := range []struct {
		key string
		o   redisclient.Options
	}{
		{"redis.ca", redisclient.Options{CA: s.Redis.CA}},
		{"redis.cert", redisclient.Options{Cert: s.Redis.Cert, Key: s.Redis.Key}},
	} {
		if err := files.o.Check(); err != nil {
			return fmt.Errorf("%s: %w", s.Where(files.key), err)
		}
	}
	client, err := redisclient.Dial(s.Redis.URL, s.DialOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.Where("redis.url"), err)
	}
	return client.Close()
}

// readPeers determines the members of the federation, reads their keys, and finds this site
// among them.
func (s *Settings) readPeers() error {
	if len(s.Peers) == 0 {
		return nil
	}
	var errs []error
	s.Members = make(wire.Members)
	for i, p := range s.Peers {
		trust, err := wire.ParseTrust(p.Trust)
		m := wire.Member{Trust: trust, MaxReports: p.MaxReports, MaxCounts: p.MaxCounts}
		errs = append(errs, err)
		for _, k := range []struct{ name, value string }{{"key", p.Key}, {"next_key", p.NextKey}} {
			if k.value == "" {
				continue
			}
			key, err := keyring.ParsePublicKey(k.value)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.WherePeer(i, k.name), err))
			}
			m.Keys = append(m.Keys, key)
		}
		if p.Name != s.Name {
			s.Members[p.Name] = m
		}
	}
	if key, err := keyring.ReadSigningKey(s.SigningKeyFile); err == nil && !s.repairing { // otherwise the start creates or rejects it
		errs = append(errs, s.CheckOwnPeer(key))
	}
	return errors.Join(errs...)
}

// CheckOwnPeer rejects a [[peer]] with this site's name but another key, and one with this
// site's key but another name.
func (s *Settings) CheckOwnPeer(key ed25519.PrivateKey) error {
	own := keyring.PublicKey(key)
	for i, p := range s.Peers {
		ours := p.Key == own || p.NextKey == own
		switch {
		case p.Name == s.Name && !ours:
			return fmt.Errorf("%s: %q is this site's own name, and its key is %s; two sites with one name overwrite each other's work", s.WherePeer(i, "key"), p.Name, own)
		case p.Name != s.Name && ours:
			return fmt.Errorf("%s: the key of %q is this site's own; each site has its own (spambloom keygen)", s.WherePeer(i, "key"), p.Name)
		}
	}
	return nil
}

// checkRollover rejects an invalid previous federation key. If there is one, the key itself
// must exist: the sites share a new key, which is not created here.
func (s *Settings) checkRollover() error {
	if s.PreviousKeyFile == "" {
		return nil
	}
	before, err := keyring.ReadKey(s.PreviousKeyFile)
	if err != nil {
		return err
	}
	key, err := keyring.ReadKey(s.KeyFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no key to roll over to: %w", err)
	case err != nil:
		return err
	case key == before:
		return fmt.Errorf("%s and %s contain the same key, %s", s.PreviousKeyFile, s.KeyFile, keyring.ID(key))
	}
	return nil
}

// Parameters returns the values of [reports] that must be the same on all sites.
func (s *Settings) Parameters() string {
	r := s.Reports
	return fmt.Sprintf("%v/%d/%d/%g", r.Period, r.Keep, r.Capacity, r.MaxErrorPerMail)
}
