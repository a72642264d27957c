// Package reporting takes reports of spam and answers questions about messages,
// for the people and programs of this machine. It owns the desk, which accepts
// or refuses a report, and the control API (HTTP and JSON over a unix socket,
// see API.md): its server and its client. It does not sign messages, keep
// filters or choose a verdict; bodies never reach it, only signatures.
//
//	spambloom report -> Client -> unix socket -> NewHandler
//	    -> Desk.Report: DB.Report (journal on disk), DB.Judge, one log line
//	    -> "accepted", and the verdict from now on
//	spambloom check  -> Client -> unix socket -> NewHandler
//	    -> DB.Judge, Decide -> verdict
//
// Who may report is, today, who may open the socket (its mode and group).
package reporting
