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
// Memory is bounded whatever a client sends: a packet by 1 MiB, a message by
// Options.MaxMessage, all messages in flight by 32 times that. Judging takes
// more, up to three times the message (signature.Compute), but as many messages
// are judged at a time as there are processors; the others wait in order.
//
// Goroutines: one for each connection, made by the library; one for each message
// while it is judged or waits for it. Server.Shutdown waits for all of them.
//
// If a message cannot be judged (a panic, the deadline), it passes, and the
// header, the log and a metric say so; Options.TempfailOnFailure changes that.
package milter
