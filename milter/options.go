package milter

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"
)

// Options say how messages are treated. The zero value of a field is its
// default.
type Options struct {
	Site string // this site's name in headers

	Policy     Policy // the general one
	Overrides  []Override
	Allow      []Allow
	AuthservID string // of the MTA's own Authentication-Results fields; "": none is believed

	LocalNetworks     []netip.Prefix // clients whose mail is not judged, as in Allow; a submission without an address is from 127.0.0.1
	SkipAuthenticated bool           // mail of authenticated senders is not judged
	CountRecipients   bool           // a message counts once for each recipient, else once

	// CountNetworks are the MTAs that are believed about the number of recipients when they
	// connect over TCP; messages of others count once. An MTA on a unix socket is always
	// believed, as the mode of the socket decides who may connect.
	CountNetworks []netip.Prefix

	// GreylistFrom is how often this site must have seen a message lately, this copy
	// included, for it to be deferred once; see bloomdb.DB.Defer. 0: none is.
	GreylistFrom uint64

	// MaxMessage is how many bytes of header and body are kept in memory; default
	// 10 MiB. A longer message is judged on what was kept, or not at all if
	// SkipOversize.
	MaxMessage   int64
	SkipOversize bool

	// MaxMemory is how many bytes all messages in flight keep together; default 32
	// times MaxMessage. Beyond it each message may still hold 64 KiB, which is all of
	// most mail. What is longer goes to temporary files in SpillFolder, four times
	// MaxMemory at most and as long as 256 MiB of its disk stay free, or where that is
	// empty the message is treated like one over MaxMessage.
	MaxMemory   int64
	SpillFolder string

	// Tempfail says which messages that cannot be judged are answered 451, not passed.
	Tempfail struct{ Overload, Error, Deadline bool }

	MaxConnections          int // default 1000; more are closed at once
	MaxConnectionsPerClient int // of one MTA's address, or of a unix socket; default no limit

	IdleTimeout       time.Duration // silence of the MTA between messages; default 2h, as with libmilter: an SMTP client may take long for its DATA
	ContentTimeout    time.Duration // silence within header and body, and for the rest of any packet; default 5m
	WriteTimeout      time.Duration // default 30s
	JudgeTimeout      time.Duration // from end of message to the verdict, waiting for a processor included; default 30s
	ConnectionTimeout time.Duration // age at which a connection is closed as soon as it is between messages, or after an hour; default 24h

	Log *slog.Logger // default: discard

	rules *rules // of the policies and allow rules above
}

func (o Options) withDefaults() *Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, 10<<20)
	o.MaxMemory = cmp.Or(o.MaxMemory, 32*o.MaxMessage)
	o.MaxConnections = cmp.Or(o.MaxConnections, 1000)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Hour)
	o.ContentTimeout = cmp.Or(o.ContentTimeout, 5*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.JudgeTimeout = cmp.Or(o.JudgeTimeout, 30*time.Second)
	o.ConnectionTimeout = cmp.Or(o.ConnectionTimeout, 24*time.Hour)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.rules = newRules(&o)
	return &o
}
