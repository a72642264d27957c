// Package digest makes the digests of signatures. It owns the kinds, whose numbers are
// hashed and stored and never change, and the hash. It has no state but pools, and is safe
// for concurrent use.
package digest
