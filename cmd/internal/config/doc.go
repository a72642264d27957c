// Package config turns the configuration file into typed values.
//
// It owns the table of all keys (keys.go): their types, bounds, defaults and documentation.
// The defaults, the checks, contrib/spambloom.toml and the daemon's log line at start are
// all made from that table. It does not own the use of the values: the commands copy them
// into the options of the packages, none of which imports this one. Package value owns the
// types of value.
//
//	file --Load--> Config <--Override-- flags
//	                 |
//	                 +--> Different (log)   Effective (--print-config)   Changed (reload)   Where (errors)
package config

//go:generate go test -run ^TestExampleFile$ -update .
