// Package peers tracks this site's position in the streams of other sites: cursors, gaps, caps on
// what each site can make this one store, and mutes.
//
//	Apply       record -> opened -> in sequence? -> within the caps? -> the origin's part
//	ApplyChunk  the same for a chunk of a snapshot
//	Mute, Drop  remove a site's influence
//
// The parts themselves are in package store. sitesMu is held while a record is applied, and
// taken before the locks of store and outbox.
package peers
