// Package desk carries out the requests of the control API: it accepts or refuses reports,
// keeps them in the ledger, and writes to the database what the ledger decides. Spam traps
// report here, too.
//
//	Report, Revoke -> DB.Reportable, limit per hour
//	    -> Ledger.Enter      reporter, time, weight, quorum, share   (on disk)
//	    -> DB.Report, Revoke if the quorum is reached (on disk), then Ledger.Settle
//	    -> DB.Judge          the verdict from now on
//	Lookup, Find: a message that the caller does not have, in the ledger and among those judged lately
//	Run: carries out decisions that a crash or a full disk left undone; removes expired reports
//
// The desk does not own rights: the caller (package server) decides who may do what and see
// whose name. It knows no HTTP and no verdicts.
//
// A Desk has one lock, limits.mu. It is held for a look into a table, and no other lock is
// taken under it.
package desk
