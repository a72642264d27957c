// Package vote holds the Generalized Bloom filters of recent reports: this site's own, which it
// publishes, and those of sites that are trusted by vote. Each filter is looked up separately and
// never joined with another one.
//
//	Record -> journal -> Apply -> Encode -> Redis
//	Redis -> Accept -> Received -> siteVotes.Has
//
// It does not decide how many votes list a message. Locks: changing serialises changes of the
// received votes and their files; the lock of the own filters is taken last.
package vote
