// Package publisher publishes this site's data: deltas in its own stream, snapshots, votes,
// and heartbeats.
//
// It owns the order and the times in which data is published, and the end of this site's
// stream. Package bloomdb owns the data that waits. An entry of the stream that this site
// has not signed is no claim on the stream: the publisher moves it aside. The package reads
// nothing of other sites; Requests returns what they request, and what is missing of them.
//
//	bloomdb.NextDelta   -> Transport.Publish
//	bloomdb.NewSnapshot -> Transport.WriteChunk, then Transport.Commit
//	bloomdb.Votes       -> Transport.WriteVotes
//	bloomdb.Heartbeat   -> Transport.Heartbeat
//
// A report is published 100 ms after it was made, at most five times a second. Counts wait
// a second, and in a flood up to a minute, depending on their amount: repeated counts in
// that time are published once.
//
// Locks: mu, for the data of Status. Nothing is called under it.
package publisher
