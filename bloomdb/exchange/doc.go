// Package exchange carries deltas between the sites of a federation through Redis: it
// publishes this site's deltas, and applies those of other sites to the database.
//
// It owns the keys in Redis, the order in which records are published and applied, and the
// handling of connection faults. Package bloomdb owns the meaning of records, the cursors,
// and the data waiting for the disk. The package never delays mail; while Redis is down,
// mail flows and deltas wait.
//
// Redis pub/sub loses messages whenever a connection breaks, so it only carries news
// quickly. The authoritative record is one stream per site with entry ids EPOCH-SEQ, so
// that Redis itself refuses duplicate and misordered entries. Beside it is the site's
// snapshot, for sites that missed entries of the stream.
//
//	bloomdb.NextDelta   -> publisher -> one script: XADD to the own stream,
//	bloomdb.NewSnapshot                  HSET tails, PUBLISH the delta
//	                                 -> chunks, then one script: SET manifest,
//	                                    HSET heads, XTRIM, UNLINK the old slot
//	                                      |
//	news -> subscriber -> follower -> bloomdb.Apply    no gap: at once
//	                      follower <- XREAD            otherwise: from the stream
//	                      follower <- manifest, chunks data missing from the stream
//
// Run owns three goroutines: the publisher (own stream, snapshots, votes, heartbeats), the
// subscriber (the channel, and whether the link is alive), and the follower (the only one
// that applies). The follower reads a site's stream when the site's head is past its
// cursor: after news that reveal a gap, after every subscription and resubscription, after
// news were dropped because the follower was busy, and in any case every half minute.
//
// An unproven claim makes the follower check, never believe. Only a verified heartbeat
// makes a site known and determines where its stream should end, and only the site's
// records move its cursor. The publisher treats its own stream alike: it moves aside
// entries that it has not signed. To recover data destroyed by others, it requests
// snapshots in its heartbeat.
//
// A report is published 100 ms after it was made, at most five times a second. Counts wait
// a second, and in a flood up to a minute, depending on their amount: repeated counts in
// that time are published once.
//
// The follower reads only the votes of a site with the trust "vote", and nothing of a muted
// site or one with the trust "none". A site whose clock is more than an hour ahead is paused
// until its clock is right; its deltas wait in its stream.
//
// Dial returns the client of Redis. The caller closes it after Run. Close returns when no
// goroutine of the library is left, even if Redis is down.
//
// FORMAT.md describes keys, entries, news and the permissions a Redis user needs.
package exchange
