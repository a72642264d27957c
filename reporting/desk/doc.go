// Package desk carries out the requests of the control API: it accepts or refuses reports,
// keeps them in the ledger, and writes to the database what the ledger decides. Spam traps
// report here, too.
//
//	Report, Revoke -> DB.Reportable, limit per hour
//	    -> order.Lock        no other word about the message until this one is in the filters
//	    -> Ledger.Enter      reporter, time, weight, quorum, share   (on disk)
//	    -> DB.Report, Revoke if the quorum is reached (on disk), then Ledger.Settle
//	    -> DB.Judge          the verdict from now on
//	Lookup, Find: a message that the caller does not have, in the ledger and among those judged lately
//	Settle -> the same, in the name of ledger.Settler, and DB.Settle
//	Never, Retouch, Settle, Undo, SetWeight, Mute, Drop -> Ledger.Note first: who, when, what
//	Run: carries out decisions that a crash or a full disk left undone; removes expired reports;
//	    lets revocations act that waited for the listing of another site
//
// Package answer converts what database and ledger return into the API's types, package campaign
// groups reports, package hourly bounds their rate, and package identity decides what is one message. The desk does not own rights: the caller
// (package server) decides who may do what and see whose name. It contains no HTTP and no verdicts.
//
// Locks: those of a message's signatures and anchors (order), in ascending order, from before the
// ledger is asked until the filters are written; under them settling, while the settled messages are
// brought to the database. That of waitlist and that of hourly are held for a look into
// a table, and no other lock is taken under them.
package desk
