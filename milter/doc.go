// Package milter judges mail for a mail server (Postfix, Sendmail) over the milter
// protocol.
//
// It owns the sessions, the memory of messages in flight, and how a message is judged.
// Signatures come from package signature, evidence from package bloomdb, decisions from
// package policy. The package reads no configuration file and makes no network request of its
// own. It consists of these packages, in the order of their imports:
//
//	policy     decisions, and rules for senders and recipients
//	protocol   packets of the milter protocol
//	door       connections: their bounds, and the end at Shutdown
//	turns      which message is judged next, processors, memory for judging
//	metrics    counters of messages and connections
//	health     suspends judging while this site's own part of it fails
//	header     the headers of ours, forged ones, words of replies
//	spill      ends of bodies, in temporary files
//	milter     sessions, messages, the server
//	spamd      the same for clients of spamd
//
// The life of a message:
//
//	MTA -> Server.Serve -> listener (door, retry) -> conn (packets, deadlines)
//	    -> go-milter -> session: MAIL, RCPT ... collected, bounded
//	    -> session: macros; header and body, if the MTA waits for no answer to them
//	    end of message: skip?    authenticated, local, oversize
//	                    allow?   a rule for each of its recipients
//	                    judge:   signature.Compute, DB.Count, DB.Judge
//	                    policy:  of each recipient; the mildest decision applies to the message
//	                    greylist: a clean message of which many copies arrive now is deferred once
//	                    answer:  remove forged headers, add own headers, action
//	                    one log line
//
// Everything that decides is pure (package policy) and comes from Options. A reload
// replaces the options as a whole. A message keeps the options that were in force when it
// began.
//
// The protocol is implemented by github.com/emersion/go-milter v0.5.0. conn, listener and
// session wrap it and work around what it lacks; each place states what and why. Nothing in
// a session writes to the library's own log or ends it with an error, so one message never
// affects the next.
//
// Limits. Memory is bounded whatever a client sends; Options.MostMemory is the sum.
// Messages in flight are bounded by Options.MaxMemory plus 64 KiB for each connection.
// Anything longer goes to temporary files, if configured, or is cut. Each connection reads
// a packet of up to 64 KiB; a longer packet (at most 1 MiB) is charged to MaxMemory. Of its
// macros a session keeps those in use. The memory for judging a message is booked before
// judging begins (package turns). Each wait for the MTA has a deadline. All limits are counted
// in metrics.
//
// Turns. As many messages are judged at a time as there are processors. The others wait,
// and clients take turns. A message that takes long to sign yields its processor to the
// next one, continues beside it, and sets its sender back (package turns).
//
// Goroutines: one for each connection, made by the library; one for each message while it
// is judged. Server.Shutdown waits for all of them.
//
// A message that cannot be judged (overload, a panic, the deadline) passes; the header, the
// log and a metric report it. Options.Tempfail changes that for each cause. A breaker
// suspends judging while our own part of it fails, so that mail does not wait; Server.Fault
// reports this. The cost of senders' mail never opens the breaker.
package milter
