// Package door owns the connections of a server, whatever their protocol: how many may be
// open, in all and for each client, and how they end at Shutdown. The servers of packages
// milter and spamd have a door each.
//
// It neither reads nor writes a connection, and logs and counts nothing: a Refusal states
// which limit was reached.
//
//	Enter      a listener      -> Leave
//	Admit      a connection    -> Conn.Release
//	Queue      one without a place    -> Conn.Wait -> Conn.Release
//	Limit      other limits, also for those that wait
//	Begin, Go  other work      -> End
//	Shutdown   waits for all of them
//
// Locks: Door.mu guards listeners, connections, clients and those that wait. Nothing is added to them, or
// begun, after Shutdown has begun.
package door
