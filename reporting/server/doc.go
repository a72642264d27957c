// Package server serves the control API (see API.md, in the folder above) on the control
// socket and over TLS. It owns connections and rights: the bounds of each user's connections
// and requests, the name of the caller, and what the caller may do. The desk (package desk)
// does what is asked. Package peer asks the system who connected; package refusal replaces the
// answers with which net/http refuses a request.
//
//	unix socket -> Door: bounds by user      TLS -> Door: bounds by address -> Remote: token, certificate
//	    -> New: timeouts, at most 1,000 requests a connection
//	    -> NewHandler: path, method -> Access: right -> turns: 8 requests of a user at once
//	         -> request -> desk -> answer, or problem
//
// The locks are Door.mu, turns.mu and that of loglimit, each held for a look into a
// table, and handler.backing, which is held while a backup is written. That of loglimit is taken
// under Door.mu; no other lock is taken under another one.
package server
