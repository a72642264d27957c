package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

func (s *settings) dialOptions() redisclient.Options {
	return redisclient.Options{CA: s.Redis.CA, Cert: s.Redis.Cert, Key: s.Redis.Key}
}

func (s *settings) exchangeOptions(log *slog.Logger) exchange.Options {
	return exchange.Options{SnapshotLimit: s.Redis.SnapshotLimit, Log: log}
}

// checkRedis checks the URL and its files.
func (s *settings) checkRedis() error {
	if s.Redis.URL == "" {
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
	client, err := redisclient.Dial(s.Redis.URL, s.dialOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.Where("redis.url"), err)
	}
	return client.Close()
}

// readPeers determines the members of the federation, reads their keys, and finds this site
// among them.
func (s *settings) readPeers() error {
	if len(s.Peers) == 0 {
		return nil
	}
	var errs []error
	s.members = make(wire.Members)
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
		if p.Name != s.site {
			s.members[p.Name] = m
		}
	}
	if key, err := keyring.ReadSigningKey(s.sign); err == nil && !s.repairing { // otherwise the start creates or rejects it
		errs = append(errs, s.checkOwnPeer(key))
	}
	return errors.Join(errs...)
}

// openSigningKey reads this site's own key, or creates it.
func openSigningKey(s *settings, log *slog.Logger) (ed25519.PrivateKey, error) {
	key, err := keyring.ReadSigningKey(s.sign)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = makeOnce(s.sign, keyring.NewSigningKey, keyring.WriteSigningKey, keyring.ReadSigningKey); err == nil {
			log.Info("signing key made", "path", s.sign, "public", keyring.PublicKey(key))
		}
	}
	public := ""
	if err == nil {
		public = keyring.PublicKey(key)
	}
	if damage := checkDamagedSigningKey(s, public, err); errors.Is(damage, errDamagedKey) {
		return nil, &failure{exIOErr, damage}
	}
	if err != nil {
		return nil, &failure{exConfig, fmt.Errorf("%s: %w", s.Where("site.signing_key"), err)}
	}
	if err := s.checkOwnPeer(key); err != nil {
		return nil, &failure{exConfig, err}
	}
	return key, nil
}

// checkOwnPeer rejects a [[peer]] with this site's name but another key, and one with this
// site's key but another name.
func (s *settings) checkOwnPeer(key ed25519.PrivateKey) error {
	own := keyring.PublicKey(key)
	for i, p := range s.Peers {
		ours := p.Key == own || p.NextKey == own
		switch {
		case p.Name == s.site && !ours:
			return fmt.Errorf("%s: %q is this site's own name, and its key is %s; two sites with one name overwrite each other's work", s.WherePeer(i, "key"), p.Name, own)
		case p.Name != s.site && ours:
			return fmt.Errorf("%s: the key of %q is this site's own; each site has its own (spambloom keygen)", s.WherePeer(i, "key"), p.Name)
		}
	}
	return nil
}
