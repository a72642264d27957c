package milter

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
)

// Options determine how messages are treated. The zero value of a field stands for its
// default.
type Options struct {
	Site string // this site's name in headers

	// SpamFlag is the name of a second header, which spam gets with the value YES. Other mail
	// loses it. "": there is none, and such headers of other filters stay.
	SpamFlag string

	Policy     policy.Policy // the general one
	Overrides  []policy.Override
	Allow      []policy.Allow
	AuthservID string // authserv-id of the MTA's own Authentication-Results fields; "": no field is trusted

	LocalNetworks     []netip.Prefix // clients whose mail is not judged, as in Allow; a submission without an address comes from 127.0.0.1
	SkipAuthenticated bool           // mail of authenticated senders is not judged
	CountRecipients   bool           // a message counts once for each recipient; otherwise once

	// CountNetworks are the MTAs whose number of recipients is trusted when they connect
	// over TCP; messages of other MTAs count once. An MTA on a unix socket is always
	// trusted, because the mode of the socket decides who may connect.
	CountNetworks []netip.Prefix

	// GreylistFrom is the number of recent sightings at this site, including this copy,
	// from which a message is deferred once; see bloomdb.DB.Defer. 0: none is deferred.
	GreylistFrom uint64

	// MaxMessage bounds the bytes of header and body that are kept in memory, beside what is charged for
	// fields; default 10 MiB. Of a longer message only the kept part is judged, or nothing if SkipOversize is set.
	MaxMessage   int64
	SkipOversize bool

	// MaxMemory bounds the bytes that all messages in flight hold together; default 32
	// times MaxMessage. Beyond it each message may still hold 64 KiB, which is enough for
	// most mail. The rest goes to temporary files in SpillFolder: at most four times
	// MaxMemory, and only while 256 MiB of that disk stay free. If SpillFolder is empty,
	// the message is treated like one over MaxMessage.
	MaxMemory   int64
	SpillFolder string

	// Tempfail selects the causes for which a message that cannot be judged is answered 451
	// instead of passing.
	Tempfail struct{ Overload, Error, Deadline bool }

	MaxConnections          int // default 1000; further connections are closed at once
	MaxConnectionsPerClient int // from one MTA address, of one user of this machine over TCP, or on one unix socket; default no limit

	// UserOf returns the user of this machine who connected over TCP; nil, or "": unknown, and
	// all unknown users of this machine are one client. An ordinary user is no MTA, unless its
	// address is in CountNetworks: the client, the proof and the queue id that it names affect no other mail.
	UserOf door.UserOf

	IdleTimeout       time.Duration // MTA silence between commands; default no limit: an SMTP client may wait long before its mail, which the MTA would pass unjudged
	ContentTimeout    time.Duration // MTA silence within header and body, and within any packet; default 5m
	WriteTimeout      time.Duration // default 30s
	JudgeTimeout      time.Duration // from end of message to the verdict, including the wait for a processor; default 30s
	ConnectionTimeout time.Duration // age at which a connection is closed between two messages, or an hour later in any case; default no limit, as above

	// Judged is called with each message that was signed and judged, also if the answer comes
	// too late. It must be safe for concurrent use, must not block, and must not keep the
	// slices. nil: nothing is called.
	Judged func(Judgement)

	Log *slog.Logger // default: discard

	rules *policy.Rules // of the policies and allow rules above
}

func (o Options) withDefaults() *Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, 10<<20)
	o.MaxMemory = cmp.Or(o.MaxMemory, 32*o.MaxMessage)
	o.MaxConnections = cmp.Or(o.MaxConnections, 1000)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 1<<61) // 73 years
	o.ConnectionTimeout = cmp.Or(o.ConnectionTimeout, 1<<61)
	o.ContentTimeout = cmp.Or(o.ContentTimeout, 5*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.JudgeTimeout = cmp.Or(o.JudgeTimeout, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.rules = policy.NewRules(policy.Settings{
		General: o.Policy, Overrides: o.Overrides, Allow: o.Allow, AuthservID: o.AuthservID, Local: o.LocalNetworks, Counting: o.CountNetworks,
	})
	return &o
}
