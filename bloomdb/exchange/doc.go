// Package exchange carries deltas between the sites of a federation through
// Redis: the own ones out, the others' into the database.
//
// It owns the keys in Redis, the order in which records are published and
// applied, and the connections' faults. It does not own what a record means, the
// cursors, or what waits for the disk: those are package bloomdb's. Nothing here
// stands on the way of a mail; with Redis down, mail flows and deltas wait.
//
// Redis pub/sub loses messages whenever a connection breaks, so it only carries
// news fast. The record is a stream per site, whose entry ids are EPOCH-SEQ, so
// that Redis itself refuses what is doubled or out of order, and beside it the
// site's snapshot, for who comes too late for the stream.
//
//	bloomdb.NextDelta   -> publisher -> one script: XADD to the own stream,
//	bloomdb.NewSnapshot                  HSET tails, PUBLISH the delta
//	                                 -> chunks, then one script: SET manifest,
//	                                    HSET heads, XTRIM, UNLINK the old slot
//	                                      |
//	news -> subscriber -> follower -> bloomdb.Apply    nothing is missing: at once
//	                      follower <- XREAD            anything else: from the stream
//	                      follower <- manifest, chunks what the stream has not
//
// Three goroutines, all owned by Run: the publisher (own stream, snapshots, votes,
// heartbeats), the subscriber (the channel, and whether the link is alive), the
// follower (the only one that applies). The follower reads a site's stream when the
// site's head is past what was consumed: after news before which something is
// missing, after every subscription and resubscription, after news were dropped
// because the follower was busy, and in any case every half minute. What somebody
// says without proof makes it look, never believe: only a heartbeat that was
// verified makes a site known and tells where its stream should end, and only the
// site's records move its cursor. The publisher treats its own stream alike: what it
// has not signed is moved aside. What others have destroyed, a heartbeat asks for.
//
// A report is published 100 ms after it was made, at most five times a second.
// Counts wait a second, and in a flood up to a minute, the longer the more there is
// to say: what is counted again meanwhile is told once.
//
// A site whose trust is vote is heard through its votes only, of one whose trust is
// none or that is muted nothing is read. A site whose clock is more than an hour
// ahead is left alone until it is not: what it published waits in its stream.
//
// Dial makes the client of Redis. The caller closes it after Run; Close returns when no
// goroutine of the library is left, also where Redis is away.
//
// FORMAT.md describes keys, entries, news and the rights a Redis user needs.
package exchange
