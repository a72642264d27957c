// Package spamd answers the clients of SpamAssassin's spamd: Exim's spam condition, spamc,
// Haraka, Amavis, rspamd's external_services. It is for mail servers without milters.
//
// It owns the connections and the protocol, SPAMC/1.2 to 1.5 (spamd/PROTOCOL in the sources
// of SpamAssassin). It does not judge: milter.Mail collects, signs, judges, counts and logs
// a message within the limits of the milter's server. It does not report either:
// Options.Tell does.
//
//	Server.Serve -> conn: one request
//	    readRequest   command and headers, bounded
//	    receive       the message, to milter.Mail
//	    check         Mail.Judge -> score -> answer
//	    tell          Mail.Sign  -> Options.Tell
//
// Scores. Spam has Options.SpamScore, bulk Options.BulkScore, all other mail 0: also mail
// that could not be judged. Its threshold is that of all mail, because clients compare the
// two themselves: Exim takes a score of 0 for spam if the threshold is 0.
//
// Limits. The stated length of a message is not believed: its memory is booked as it
// arrives. Connections are bounded for all clients and for each. A request must arrive
// within Options.ContentTimeout.
package spamd
