// Package reporting is the page of the packages below it, which take reports of spam and
// answer questions about messages. It has no code. Bodies of messages never reach these
// packages, only signatures. They do not sign messages, keep filters or choose a verdict.
//
//	api         requests and answers of the control API (HTTP and JSON, see API.md)
//	api/v1      its endpoints: path, type of the request, type of the answer
//	credential  files of tokens and certificates
//	client      asks a daemon, over the control socket or TLS
//	server      connections, names and rights of callers, the handlers
//	desk        carries out what is asked
//	judged      remembers the messages that were judged lately, and hashes of listed and unlisted mail
//	ledger      keeps who reported what; decides by weight and quorum
//	            below it: record, buckets, pagefile, salvage, store (the file)
//	figures     the table of metrics, and of the counters that are kept; figures/kept reads them
//	history     keeps counters by hour for a year
//	overview    what an administrator looks at first; watch makes it
//	why         the reasons for a verdict in words, for the page and spambloom explain
//	page        the page for people, in a browser; asks server in its users' names
//	trust       the weight of a reporter
//	backup      the state folder as of one moment, as a tar
//
// The life of a report, with the package of each step:
//
//	spambloom report, with signatures of the message
//	    client   -> Post(v1.Report): JSON over the unix socket, or TLS with a token or certificate
//	    server   -> Door: bounds by user or address; Remote: the client's name
//	    server   -> Access: the caller's name and rights; turns: 8 requests of a user at once
//	    api      -> Decode, Request.Read: bounds and syntax of every member
//	    desk     -> Report: what of it can be reported, limit per hour, the shape of its sketches
//	    judged   -> Hashes.Like: the unreported mail that it hits; if that is much, it is held
//	    ledger   -> Enter: reporter, time, tally, share, decision (on disk)
//	    trust    -> the weight of the reporter
//	    bloomdb  -> DB.Report, if the quorum is reached (on disk); from there to other sites
//	    ledger   -> Settle: the decision is carried out
//	    bloomdb  -> DB.Judge: the evidence from now on
//	    server   -> verdict and receipt, as JSON
//	    client   -> api.Receipt, or *api.Problem
//
// A spam trap begins at desk. A question (check, explain) goes from desk straight to
// DB.Judge. A message that the caller does not have is looked up in ledger and judged. Desk.Run
// carries out decisions that a crash or a full disk left undone.
package reporting
