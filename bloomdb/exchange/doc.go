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
// that Redis itself refuses what is doubled or out of order.
//
//	bloomdb.NextDelta -> publisher -> one script: XADD to the own stream,
//	                                  HSET heads, PUBLISH news
//	                                      |
//	news -> subscriber -> follower -> bloomdb.Apply    the next one: at once
//	                      follower <- XREAD            anything else: from the stream
//
// Three goroutines, all owned by Run: the publisher (own stream, heartbeats),
// the subscriber (the channel, and whether the link is alive), the follower (the
// only one that applies). The follower reads a site's stream when the site's head
// is past what was consumed: after news that are not the next in sequence, after
// every subscription and resubscription, after news were dropped because the
// follower was busy, and in any case every half minute.
//
// FORMAT.md describes keys, entries, news and the rights a Redis user needs.
package exchange
