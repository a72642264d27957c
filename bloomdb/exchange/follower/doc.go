// Package follower applies the deltas, snapshots and votes of other sites to the database.
//
// It owns what is known about each other site: where its stream is read next, which end of
// it was announced, and what is missing. Package bloomdb owns the meaning of records and the
// cursors. The package writes nothing to Redis but the newer heartbeat of a stale site.
//
// Run is the only goroutine that applies. It reads a site's stream when the site's head is
// past its cursor: after news that reveal a gap, after every subscription and
// resubscription, after news were dropped because it was busy, and in any case every half
// minute.
//
// An unproven claim makes the follower check, never believe. Only a verified heartbeat makes
// a site known and determines where its stream should end, and only the site's records move
// its cursor. It requests snapshots in place of data destroyed by others: Incomplete names
// the sites, and this site's heartbeat carries the names.
//
// A gap never stops a site: what follows is applied, and the rest is requested. The records of a site
// take a share of Run's time (effort.go), so that no site stops the others.
//
// From a site with the trust "vote", it reads only the votes. From a site with the trust
// "none", and from a muted site, it reads nothing. A site whose clock is more than an hour ahead is paused
// until its clock is right; its deltas wait in its stream.
//
// Locks: mu, for the state of the other sites. The locks of the database, of package refusal
// and of package link are taken after it.
package follower
