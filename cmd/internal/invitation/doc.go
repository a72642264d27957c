// Package invitation contains the two lines by which a site joins a federation: the request
// of a site that wants to join, and the invitation of a member.
//
//	joining site  Request  -> line -> member
//	member        Invitation, sealed for the site of the Request -> line -> joining site
//
// It owns their format (FORMAT.md), the seal around the federation key, and passwords in
// URLs of Redis. It reads and writes no files, and does not decide who may join. It has no
// locks.
package invitation
