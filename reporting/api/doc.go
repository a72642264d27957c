// Package api contains the requests and answers of the control API as Go types, and the
// check of a request's message. API.md, in the folder above, describes each member. The
// endpoints that use them are in package v1, client and server in the packages of these
// names.
//
// The package does not own connections, rights or the database. It has no state and no
// locks.
package api

import "time"

// IdleTimeout is how long a daemon keeps a connection without a request. A client closes
// its idle connections earlier.
const IdleTimeout = 10 * time.Second
