// Package reporting takes reports of spam and answers questions about messages, for
// the people and programs of this machine and, where that is wanted, of others. It
// owns the desk, which accepts or refuses a report, and the control API (HTTP and JSON,
// see API.md): its server, its client, and who may do what there. It does not sign
// messages, keep filters or choose a verdict; bodies never reach it, only signatures.
//
//	spambloom report -> Client -> unix socket, or TLS -> Door -> NewHandler: who asks, may they?
//	    -> Desk.Report: DB.Reportable, rate limit
//	         -> Ledger.Enter      who, when, weight, quorum, share   (on disk)
//	         -> DB.Report         where the quorum is reached (on disk), then Ledger.Settle
//	         -> DB.Judge, one log line
//	    -> "accepted", and the verdict from now on
//	spambloom check  -> Client -> NewHandler -> DB.Judge, Decide -> verdict
//	Desk.Run: what a crash or a full disk left undone is carried out; old reports are forgotten
//	spambloom backup -> the state folder as of one moment, as a tar (package backup)
//
// How far a reporter is believed is in package trust, what is kept of reports in
// package ledger.
package reporting
