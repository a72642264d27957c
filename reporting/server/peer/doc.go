// Package peer asks the system which process connected to a unix socket. It keeps no state.
package peer
