// Package figures measures what contrib/benchmarks.md says of the daemon: the milter
// alone, through Postfix and beside rspamd, the way between two sites, the start with a
// full database. Its tests report and assert little, so they are behind the tag
// figures: make bench-milter, bench-exchange, bench-start.
package figures
