package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// checkRollover rejects an invalid previous federation key. If there is one, the key itself
// must exist: the sites share a new key, which is not created here.
func (s *settings) checkRollover() error {
	if s.previousKey == "" {
		return nil
	}
	before, err := keyring.ReadKey(s.previousKey)
	if err != nil {
		return err
	}
	key, err := keyring.ReadKey(s.key)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no key to roll over to: %w", err)
	case err != nil:
		return err
	case key == before:
		return fmt.Errorf("%s and %s contain the same key, %s", s.previousKey, s.key, keyring.ID(key))
	}
	return nil
}

// openPreviousKey reads the previous federation key; nil: there is none.
func openPreviousKey(s *settings) (*[32]byte, error) {
	if s.previousKey == "" {
		return nil, nil
	}
	key, err := keyring.ReadKey(s.previousKey)
	if damage := checkDamagedKey(s, s.previousKey, key, err); errors.Is(damage, errDamagedKey) {
		return nil, &failure{exIOErr, damage}
	}
	if err != nil {
		return nil, &failure{exConfig, fmt.Errorf("%s: %w", s.Where("site.previous_federation_key"), err)}
	}
	return &key, nil
}

// joinPrevious gives the previous key's database an exchange of its own, with the sites
// that have that key, over the same connections.
func (d *service) joinPrevious() {
	if before := d.db.Previous(); before != nil {
		id := before.Status().KeyID
		d.previous = exchange.New(before, streams.New(d.redis, id), d.started.exchangeOptions(d.log.With("federation", id)))
	}
}

// registerDatabases adds the metrics of the database and its exchange. If there are two of
// each, the label "key" contains the id of the federation key.
func (d *service) registerDatabases(r *prometheus.Registry) {
	register := func(r prometheus.Registerer, db *bloomdb.DB, x *exchange.Exchange) {
		r.MustRegister(databaseCollector{db})
		if x != nil {
			r.MustRegister(x.Collectors()...)
		}
	}
	before := d.db.Previous()
	if before == nil {
		register(r, d.db, d.exchange)
		return
	}
	labelled := func(db *bloomdb.DB) prometheus.Registerer {
		return prometheus.WrapRegistererWith(prometheus.Labels{"key": db.Status().KeyID}, r)
	}
	register(labelled(d.db), d.db, d.exchange)
	register(labelled(before), before, d.previous)
}
