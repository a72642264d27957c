// Package config turns the configuration file into typed values.
//
// It owns the table of all keys (keys.go): their types, bounds, defaults and
// documentation. Everything else is made from that table: the defaults, the
// checks, contrib/spambloom.toml and what the daemon logs at start. It does not
// own what the values are good for: the commands copy them into the options of
// the packages, none of which knows this one.
//
//	file --Load--> Config <--Override-- flags
//	                 |
//	                 +--> Effective (log)   Changed (reload)   Where (errors)
package config

//go:generate go test -run ^TestExampleFile$ -update .
