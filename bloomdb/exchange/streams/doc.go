// Package streams is what the sites of a federation share: one stream of deltas for each
// site, its last heartbeat, its snapshot and its votes, and a channel for news.
//
// It owns the interface Transport, its implementation by Redis (keys, Lua scripts, the
// subscription), and Position, a place in a stream. It bounds all data from outside before
// it takes memory. It does not interpret records, keeps no state but how many heads it has read, starts
// no goroutine, has no locks, and does not retry.
//
// Redis pub/sub loses messages whenever a connection breaks, so the channel only carries
// news quickly. The authoritative record is the stream, with entry ids EPOCH-SEQ, so that
// Redis itself refuses duplicate and misordered entries. Beside it is the site's snapshot,
// for sites that missed entries of the stream. Every change is one script: it takes effect
// as a whole, and may be repeated.
//
// FORMAT.md of package exchange describes keys, entries, news and the permissions that a
// Redis user needs.
package streams
