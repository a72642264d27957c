// Package figures measures the figures of contrib/benchmarks.md for the daemon: the milter
// alone, through Postfix and compared with rspamd, the exchange between two sites, and the
// start with a full database. Its tests report much and assert little, so they need the tag
// figures: make bench-milter, bench-exchange, bench-start.
package figures
