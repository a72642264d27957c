// Package peers is where this site stands in the streams of other sites: cursors, gaps, caps
// on what each may make us hold, mutes.
//
//	Apply       record -> opened -> in sequence? -> within the caps? -> the origin's part
//	ApplyChunk  the same for a piece of a snapshot
//	Mute, Drop  take a site's influence away
//
// The parts themselves are in package store. sitesMu is held while a record is applied, and
// taken before the locks of store and outbox.
package peers
