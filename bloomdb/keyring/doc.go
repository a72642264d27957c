// Package keyring holds the keys of a site and hashes under them: the federation key, from
// which all positions in filters are derived (Ring), and the key that signs the site's
// records, and receives secrets sealed for the site (Seal). It reads, writes and repairs key
// files.
//
//	key file -> ReadKey -> NewRing -> positions of signatures, domains and classes; SipHash
//
// Each use of a key has a purpose of its own, so a digest made for one purpose cannot be used
// for another. It has no locks: keys never change.
package keyring
