// Package doors tests the daemon with the real programs of mail servers without milters, and
// with the filters that read its header: spamc, Exim, Amavis, Haraka, OpenSMTPD, rspamd and
// SpamAssassin.
package doors
