// Package exchange carries deltas between the sites of a federation through Redis: it
// publishes this site's deltas, and applies those of other sites to the database.
//
// It owns the three goroutines and what is shown of them (Status, Collectors). Package
// bloomdb owns the meaning of records, the cursors, and the data waiting for the disk. The
// exchange never delays mail; while Redis is down, mail flows and deltas wait. The packages
// below it, in the order of their imports:
//
//	redisclient  the client of Redis, whose Close waits
//	streams      keys and scripts in Redis; Position
//	link         whether the link works; waits after faults
//	refusal      why records were refused, and how often
//	follower     applies what other sites publish
//	publisher    publishes what this site has
//	subscriber   listens to the channel
//	presence     which sites use this Redis, under any key; run by the caller
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
// The follower and the publisher meet only in the heartbeats: this site's heartbeat names
// the sites of which the follower misses data, and the publisher makes a snapshot when the
// heartbeat of another site requests one.
//
// The package has no locks. Those of follower, publisher, link and refusal are never held
// across a call into another of these packages, except that the follower's is taken before
// those of refusal and link.
//
// The caller dials (redisclient.Dial), and closes the client after Run.
//
// FORMAT.md describes keys, entries, news and the permissions a Redis user needs.
package exchange
