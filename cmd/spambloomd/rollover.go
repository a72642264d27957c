package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// joinPrevious gives the previous key's database an exchange of its own, with the sites
// that have that key, over the same connections.
func (d *service) joinPrevious() {
	if before := d.db.Previous(); before != nil {
		id := before.Status().KeyID
		d.previous = exchange.New(before, streams.New(d.redis, id), d.started.ExchangeOptions(d.log.With("federation", id)))
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
