// Package milter judges mail for a mail server (Postfix, Sendmail) over the
// milter protocol.
//
// It owns the sessions, the policy (evidence to verdict to action) and the
// headers. It does not own what is known about a message: signatures come from
// package signature, evidence from package bloomdb. It knows no configuration
// file and makes no network request of its own.
//
// The life of a message:
//
//	MTA -> Server.Serve -> listener (limits, retry) -> conn (packets, deadlines)
//	    -> go-milter -> session: MAIL, RCPT, header, body ... collected, bounded
//	    end of message: skip?   authenticated, local, oversize
//	                    allow?  a rule for each of its recipients
//	                    judge:  signature.Compute, DB.Count, DB.Judge
//	                    policy: of each recipient; the mildest decision is the message's
//	                    greylist: what comes too often right now, clean as yet, is deferred once
//	                    answer: forged headers off, own headers on, action
//	                    one log line
//
// Everything that decides is pure (policy.go, rules.go, allow.go, authres.go) and
// comes from Options: a reload replaces them whole, and a message keeps those that
// were in force when it began.
//
// The protocol itself is spoken by github.com/emersion/go-milter v0.5.0. conn,
// listener and session stand around it and make up for what it does not do;
// each place says what and why. Nothing of a session reaches the library's own
// log or ends it by an error, so one message never costs the next.
//
// Limits. Memory is bounded whatever a client sends, and Options.MostMemory is the sum:
// messages in flight by Options.MaxMemory and 64 KiB more for each connection; what is
// longer goes to temporary files, by option, or is cut. The packet that is read takes up
// to 64 KiB on each connection, a longer one (1 MiB at most) is taken from MaxMemory. Of
// macros only those that matter reach the library. Judging a message is booked before it
// begins (memory.go). Each wait for the MTA has a deadline. All these are counted.
//
// Turns. As many messages are judged at a time as there are processors; the others wait,
// and clients take turns. A message that takes long to sign gives its processor to the
// next one, goes on beside it, and sets its sender back (turns.go, setback.go).
//
// Goroutines: one for each connection, made by the library; one for each message
// while it is judged. Server.Shutdown waits for all of them.
//
// If a message cannot be judged (overload, a panic, the deadline), it passes, and the
// header, the log and a metric say so; Options.Tempfail changes that for each cause.
// A breaker suspends judging while our own part of it does not work, so that mail does not
// wait for it; Server.Fault tells. What senders' mail costs does not count for it.
package milter
