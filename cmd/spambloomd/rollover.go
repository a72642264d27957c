package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// checkRollover finds what is wrong with the previous federation key. Beside one, the
// key itself must be there: the sites share a new one, it is not made here.
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
		return fmt.Errorf("there is no key to roll over to: %w", err)
	case err != nil:
		return err
	case key == before:
		return fmt.Errorf("%s and %s hold the same key, %s", s.previousKey, s.key, keyring.ID(key))
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

// joinPrevious gives the previous key's database an exchange of its own, with the
// sites that have that key, through the same connections.
func (d *server) joinPrevious() {
	if before := d.db.Previous(); before != nil {
		id := before.Status().KeyID
		d.previous = exchange.New(before, d.redis, id, d.started.exchangeOptions(d.log.With("federation", id)))
	}
}

// registerDatabases adds the metrics of the database and its exchange. While there are
// two of each, a label "key" has the id of the federation key.
func (d *server) registerDatabases(r *prometheus.Registry) {
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
