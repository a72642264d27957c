// Package peer asks the system which process of this machine opened a connection: for unix
// sockets (Of), and for TCP (UserOf). It keeps no state.
package peer
