// Package vote is the Generalized Bloom filters of recent reports: this site's own, which it
// publishes, and those of sites that are trusted by vote. Each is asked as it came and joined
// with nothing.
//
//	VoteRecord -> journal -> ApplyVotes -> Votes -> Redis
//	Redis -> HearVotes -> Voter.Has
//
// It does not decide how many votes list a message. Locks: changing serialises changes of
// the voters and their files; that of the own filters is taken last.
package vote
