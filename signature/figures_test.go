package signature_test

import "github.com/spambloom/spambloom/signature/sketch"

// The limits that FORMAT.md lists. Content within is read, content beyond is not.
const (
	minAttachment  = 1 << 10
	minImage       = 16 << 10
	maxAttachments = 16
	minPicture     = 2 << 10
	maxLooked      = 4
	maxPictures    = 2
	maxPixels      = 4 << 20

	maxEntities  = 50_000 // package mail
	maxWrapped   = 4
	maxReach     = 1 << 20
	maxSource    = 1 << 20 // package visible
	maxOpen      = 256     // package page
	maxSheet     = 256 << 10
	maxSelectors = 5000
	maxClasses   = 64
	maxText      = 256 << 10 // package words
	maxMembers   = 2000      // package archive
	freeInflated = 2 << 20
	maxLinks     = 8192 // package links
	maxLinked    = 1024
	maxDomains   = 16
	storedKeys   = 20 // package sketch
	candidates   = 12
	needOfImage  = 11
	maxSketched  = sketch.MaxWords
)
