// Package peer asks the system which process of this machine opened a connection: for unix
// sockets (Of), and for TCP (UserOf); and what its user is called (Names, UIDName). Names.mu is its
// only lock, held for a look into the cache, never during a look-up.
package peer
