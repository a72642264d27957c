package config

import (
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// key is one entry of the table from which everything about the configuration is made.
type key struct {
	section, name string
	kind          kind
	def           any    // default, as returned by the TOML decoder
	example       any    // shown in the example file instead of an empty default
	live          bool   // a running daemon applies it on HUP
	doc           string // wrapped at 78 columns
}

func (k key) path() string { return k.section + "." + k.name }

// kind is a type of value in a field of the configuration.
type kind struct {
	allowed string // the end of every error
	parse   func(c *Config, v any) error
	get     func(c *Config) any // as returned by the decoder
}

// of returns the kind of a field.
func of[T any](field func(*Config) *T, k value.Kind[T]) kind {
	return kind{
		allowed: k.Allowed,
		parse: func(c *Config, v any) error {
			read, err := k.Read(v)
			if err == nil {
				*field(c) = read
			}
			return err
		},
		get: func(c *Config) any { return k.Show(*field(c)) },
	}
}

// set checks v and stores it. The error contains v and the allowed values.
func (k kind) set(c *Config, v any) error {
	if err := k.parse(c, v); err != nil {
		return fmt.Errorf("%w; allowed: %s", err, k.allowed)
	}
	return nil
}

// sections in the order of the example file.
var sections = []struct{ name, doc string }{
	{"site", "This machine's identity in the federation."},
	{"milter", "The connection with Postfix or Sendmail."},
	{spamdSection, "For mail servers without milters: the protocol of SpamAssassin's spamd, for\nExim, spamc, Haraka and others (contrib/spamd.md). Limits on messages and time\nare those of [milter]; [actions] do not apply."},
	{"actions", "What is done with a message, by verdict: accept (deliver unchanged, without\nour headers), tag (add headers only), quarantine (the MTA's hold queue),\nreject (550 5.7.1), tempfail (451 4.7.1), discard."},
	{"bulk", "How often a message was seen. Bulk is not spam: newsletters are bulk too."},
	{"reports", "Messages reported as spam. Period, keep, capacity and max_error_per_mail size\nthe shared filters and must be the same on all sites of a federation."},
	{"domains", "Domains of links in messages."},
	{"redis", "The connection by which reports and counts are exchanged with other sites."},
	{peerSection, "Another site of the federation, one table for each. spambloom keygen prints\nthe table that a site gives to the others. Without any table, every site that\nproves the federation key is fully trusted, whatever its name. With at least\none, only the listed sites are trusted, and only records signed with their\nkeys. A table for this site itself is ignored, so that all sites may use the\nsame tables."},
	{policySection, "Different actions for some recipients, domains or listeners, one table for\neach group (contrib/policy.md). For each key, the table for the recipient\ncomes first, then the one for its domain, the one for the listener, and\nfinally [actions] and bulk.threshold. A message to recipients with different\npolicies gets the mildest action: accept, tag, quarantine, tempfail, reject,\ndiscard, in this order."},
	{allowSection, "Mail that is always delivered, one table for each rule (contrib/policy.md).\nIts verdict is allowed, and it is neither signed nor counted. A rule matches a\nmessage if all of its keys match."},
	{trapSection, "A Maildir that receives only spam, one table for each: that of an address\nwhich nobody ever wrote to (contrib/traps.md). New mail in it is reported at\nonce, by the reporter trap:NAME, and moved from new/ to cur/ as seen."},
	{"control", "The connection with the command spambloom."},
	{"http", "The page for people, metrics and health."},
	{"log", "Messages on standard error."},
}

// actions that a verdict can have.
var actions = []string{"accept", "tag", "quarantine", "reject", "tempfail", "discard"}

const day = 24 * time.Hour

var keys = slices.Concat(generalKeys, policyKeys, allowKeys, spamdKeys)

var generalKeys = []key{
	{section: "site", name: "name", def: "", example: "mx1",
		kind: of(func(c *Config) *string { return &c.Site.Name }, value.Name("a site name")),
		doc:  "Name of this site, unique in the federation: 1 to 64 letters, digits and \".\",\n\"_\", \"-\", not starting with a dot. Default: the host name."},
	{section: "site", name: "federation_key", def: "", example: "/etc/spambloom/federation.key",
		kind: of(func(c *Config) *string { return &c.Site.FederationKey }, value.Path()),
		doc:  "File with the key that all sites of the federation share: 64 hex digits on one\nline, mode 0600. Created at the first start if it is missing. Default:\nfederation.key in the state folder."},
	{section: "site", name: "previous_federation_key", def: "", example: "/etc/spambloom/federation-before.key",
		kind: of(func(c *Config) *string { return &c.Site.PreviousKey }, value.Path()),
		doc:  "The previous federation key, during a key change. Data under it is kept, and\nsites that do not have the new key yet remain connected; this doubles the\nmemory. Remove it when the status says so (contrib/federation.md). Default:\nnone."},
	{section: "site", name: "signing_key", def: "", example: "/etc/spambloom/site.key",
		kind: of(func(c *Config) *string { return &c.Site.SigningKey }, value.Path()),
		doc:  "File with the Ed25519 key with which this site signs its records, mode 0600.\nCreated at the first start if it is missing, or earlier by spambloom keygen.\nDefault: site.key in the state folder."},

	{section: "milter", name: "listen", def: []any{"inet:8899@127.0.0.1"},
		kind: of(func(c *Config) *[]string { return &c.Milter.Listen }, value.Texts(`addresses such as "inet:8899@127.0.0.1" or "unix:/run/spambloom/milter.sock"`)),
		doc:  "Addresses to listen on: inet:PORT@HOST, inet:HOST:PORT, inet6:PORT@[HOST],\nunix:PATH or local:PATH. Sockets passed by systemd replace them."},
	{section: "milter", name: "group", def: "", example: "postfix",
		kind: of(func(c *Config) *string { return &c.Milter.Group }, value.Text("the name of a group")),
		doc:  "Group of the unix sockets in listen. Default: control.group."},
	{section: "milter", name: "socket_mode", def: "0660",
		kind: of(func(c *Config) *fs.FileMode { return &c.Milter.SocketMode }, value.Mode()),
		doc:  "Mode of the unix sockets in listen. Connecting requires write permission."},
	{section: "milter", name: "local_networks", def: []any{"127.0.0.0/8", "::1/128"}, live: true,
		kind: of(func(c *Config) *[]netip.Prefix { return &c.Milter.LocalNetworks }, value.Networks()),
		doc:  "Mail from clients in these networks is neither judged nor counted."},
	{section: "milter", name: "skip_authenticated", def: true, live: true,
		kind: of(func(c *Config) *bool { return &c.Milter.SkipAuthenticated }, value.Boolean()),
		doc:  "Mail from authenticated senders is neither judged nor counted."},
	{section: "milter", name: "spam_flag", def: "", example: "X-Spam-Flag", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.SpamFlag }, value.HeaderName()),
		doc:  "Name of a second header, which spam gets with the value YES; from all other\nmail it is removed, so it must begin with X- and be one that mail does not have\notherwise. Leave it empty beside rspamd or SpamAssassin, which would\ncount the message twice (contrib/beside.md). Empty: none."},
	{section: "milter", name: "max_message", def: "10MiB", live: true,
		kind: of(func(c *Config) *int64 { return &c.Milter.MaxMessage }, value.Size(64<<10, 1<<30)),
		doc:  "How much of a message is kept in memory for judging it. Only the beginning of\na larger one is judged, so a report of it may not match its copies."},
	{section: "milter", name: "oversize", def: "judge", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.Oversize }, value.Choice("judge", "skip")),
		doc:  "Judge a larger message on the kept part (judge), or do not judge it (skip)."},
	{section: "milter", name: "on_failure", def: "accept", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.OnFailure }, value.Choice("accept", "tempfail")),
		doc:  "What happens to a message that could not be judged for an internal reason: it\nis delivered with a header that states this (accept), or the sender is asked\nto try again later (tempfail)."},
	{section: "milter", name: "on_overload", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.OnOverload }, value.ChoiceOrNone("accept", "tempfail")),
		doc:  "The same if the message got no turn within judge_timeout, or if judging is\nsuspended after many failures. Default: as on_failure."},
	{section: "milter", name: "on_error", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.OnError }, value.ChoiceOrNone("accept", "tempfail")),
		doc:  "The same after an internal error, or if the MTA rejected the answer. Default:\nas on_failure."},
	{section: "milter", name: "on_deadline", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.OnDeadline }, value.ChoiceOrNone("accept", "tempfail")),
		doc:  "The same if judging took longer than judge_timeout. Default: as on_failure."},
	{section: "milter", name: "authserv_id", def: "", example: "mx1.example.org", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.AuthservID }, value.AuthservID()),
		doc:  "The name that this site's own DKIM and SPF verifier writes into its\nAuthentication-Results, such as AuthservID of OpenDKIM. The key from of\n[[allow]] trusts only these results; the verifier must remove forged ones\n(contrib/policy.md). Empty: no results are trusted."},
	{section: "milter", name: "whiteclnt", def: "", example: "/var/dcc/whiteclnt", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.Whiteclnt }, value.Path()),
		doc:  "A client whitelist of DCC, whose lines with ok are read as allow rules;\ncontrib/policy.md lists the supported syntax. It is read again on SIGHUP.\nEmpty: none."},
	{section: "milter", name: "max_connections", def: int64(1000), live: true,
		kind: of(func(c *Config) *int64 { return &c.Milter.MaxConnections }, value.Integer(1, 100_000)),
		doc:  "Maximum number of connections from MTAs. Further ones are closed at once."},
	{section: "milter", name: "max_connections_per_client", def: int64(400), live: true,
		kind: of(func(c *Config) *int64 { return &c.Milter.MaxConnectionsPerClient }, value.Integer(0, 100_000)),
		doc:  "Maximum number of connections from one MTA address, or over one unix socket.\nAn IPv6 network of 64 bits is one address, except for MTAs in count_networks.\nOn this machine, each user is a client; if the unit forbids AF_NETLINK, all users\ntogether are one. It must exceed the number of SMTP sessions that the MTA takes\n(Postfix: default_process_limit, 100, for each service with smtpd in master.cf;\nSendmail: MaxDaemonChildren, by default without a limit): beyond it, mail passes\nunjudged. spambloom doctor compares both. If it is at most half of max_connections,\na client has at most half of what others leave. 0: only max_connections\napplies."},
	{section: "milter", name: "idle_timeout", def: "0s", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.IdleTimeout }, value.DurationOrNone(time.Second, 7*day)),
		doc:  "How long an MTA may be silent between two commands. An SMTP client may make the\nMTA wait longer, also within DATA; all later mail of that SMTP session then passes\nunjudged. 0s: no limit, since the kernel ends the connections of dead MTAs."},
	{section: "milter", name: "content_timeout", def: "5m", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.ContentTimeout }, value.Duration(time.Second, 7*day)),
		doc:  "How long an MTA may be silent within header and body, which it sends from its\ndisk."},
	{section: "milter", name: "write_timeout", def: "30s", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.WriteTimeout }, value.Duration(time.Second, time.Hour)),
		doc:  "How long an MTA may take to accept an answer."},
	{section: "milter", name: "judge_timeout", def: "30s", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.JudgeTimeout }, value.Duration(time.Second, time.Hour)),
		doc:  "How long judging a message may take, including the wait for its turn. The MTA\nmust wait longer (Postfix: milter_content_timeout, 300 s)."},
	{section: "milter", name: "connection_timeout", def: "0s", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.ConnectionTimeout }, value.DurationOrNone(time.Second, 31*day)),
		doc:  "Age at which a connection is closed between two messages, or an hour later in\nany case. Later mail of its SMTP session then passes unjudged, so that a sender\nmay wait for that. 0s: no limit."},
	{section: "milter", name: "max_memory", def: "320MiB", live: true,
		kind: of(func(c *Config) *int64 { return &c.Milter.MaxMemory }, value.Size(1<<20, 1<<40)),
		doc:  "How much of all messages in flight is kept in memory together; at least\nmax_message, and half more so that one with many fields fits. Beyond it each\nmessage may still use 64 KiB. One address, or user of this machine over TCP, has\nat most three quarters of what others leave."},
	{section: "milter", name: "over_memory", def: "spill", live: true,
		kind: of(func(c *Config) *string { return &c.Milter.OverMemory }, value.Choice("head", "spill")),
		doc:  "If no memory is left, write the rest of a message to an unnamed temporary file in\nthe state folder (spill), or judge it on the part in memory (head): a sender can\nuse up the memory by many large messages at once. All these files together take\nat most four times max_memory, and at least 256 MiB of that disk stay free for\nreports. A message of which a part has no room there either is judged by its\nbeginning; if that is not spam, on_overload = \"tempfail\" defers it."},
	{section: "milter", name: "grace", def: "1m", live: true,
		kind: of(func(c *Config) *time.Duration { return &c.Milter.Grace }, value.DurationOrNone(time.Second, time.Hour)),
		doc:  "How long a stop waits for messages and requests in flight before it cuts them\noff. A message of which the MTA has passed only the envelope has 3 seconds."},

	{section: "actions", name: "spam", def: "tag", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.Spam }, value.Choice(actions...)),
		doc:  "Reported as spam, and not revoked."},
	{section: "actions", name: "spam_phish", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.SpamPhish }, value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as phishing. Requires reports.classes. Default for this and the\nthree below: as spam."},
	{section: "actions", name: "spam_scam", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.SpamScam }, value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as a scam."},
	{section: "actions", name: "spam_malware", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.SpamMalware }, value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as malware."},
	{section: "actions", name: "spam_bulk", def: "", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.SpamBulk }, value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as unwanted bulk mail."},
	{section: "actions", name: "bulk", def: "tag", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.Bulk }, value.Choice(actions...)),
		doc:  "Seen at least bulk.threshold times."},
	{section: "actions", name: "clean", def: "tag", live: true,
		kind: of(func(c *Config) *string { return &c.Actions.Clean }, value.Choice(actions...)),
		doc:  "Everything else."},

	{section: "bulk", name: "threshold", def: int64(20), live: true,
		kind: of(func(c *Config) *int64 { return &c.Bulk.Threshold }, value.Integer(2, 1_000_000_000)),
		doc:  "Number of sightings, over all sites, from which a message is bulk."},
	{section: "bulk", name: "period", def: "24h",
		kind: of(func(c *Config) *time.Duration { return &c.Bulk.Period }, value.Duration(time.Hour, 31*day)),
		doc:  "Length of a counting generation."},
	{section: "bulk", name: "keep", def: int64(2),
		kind: of(func(c *Config) *int64 { return &c.Bulk.Keep }, value.Integer(1, 31)),
		doc:  "Number of generations kept, including the current one."},
	{section: "bulk", name: "capacity", def: int64(20_000_000),
		kind: of(func(c *Config) *int64 { return &c.Bulk.Capacity }, value.Integer(1_000, 1_000_000_000)),
		doc:  "Number of distinct messages that this site counts in one period. It determines\nthe memory."},
	{section: "bulk", name: "count", def: "recipients", live: true,
		kind: of(func(c *Config) *string { return &c.Bulk.Count }, value.Choice("recipients", "messages")),
		doc:  "A message to three recipients counts three times (recipients) or once\n(messages). Over TCP, recipients are counted only for MTAs in count_networks."},
	{section: "bulk", name: "count_networks", def: []any{}, example: []any{"192.0.2.25/32"}, live: true,
		kind: of(func(c *Config) *[]netip.Prefix { return &c.Bulk.CountNetworks }, value.Networks()),
		doc:  "MTAs whose number of recipients is trusted when they connect over TCP. A\nmessage from another MTA counts once: otherwise a local user, or another\nclient with access to the port, could make a newsletter bulk with one message\nto thousands. An MTA on a unix socket is always trusted. With an address of\nthis machine, each of its users is trusted like an MTA. Default: none."},
	{section: "bulk", name: "burst", def: "10m",
		kind: of(func(c *Config) *time.Duration { return &c.Bulk.Burst }, value.DurationOrNone(time.Minute, time.Hour)),
		doc:  "spambloom explain also shows how often this site saw a message in this recent\nperiod. The counts are kept only in memory, 2 MiB with the defaults; the\nmemory grows with capacity / period * burst. \"0s\": off."},

	{section: "bulk", name: "greylist", def: false, live: true,
		kind: of(func(c *Config) *bool { return &c.Bulk.Greylist }, value.Boolean()),
		doc:  "Defer a message that is about to become bulk once (451). Real MTAs try again,\nand meanwhile the message may be reported. Requires burst."},
	{section: "bulk", name: "greylist_from", def: int64(5), live: true,
		kind: of(func(c *Config) *int64 { return &c.Bulk.GreylistFrom }, value.Integer(2, 1_000_000_000)),
		doc:  "Number of sightings by this site within burst from which a message is\ndeferred. The recipients of the message itself count as one. It must be below\nthreshold."},

	{section: "reports", name: "quorum", def: 1.0,
		kind: of(func(c *Config) *float64 { return &c.Reports.Quorum }, value.Weight(0.1, 100)),
		doc:  "Total weight of different reporters that lists a message, or revokes it. With\n1.0 and the weights below, a single report is enough, which suits a small\nsite; for larger ones see contrib/quorum.md."},
	{section: "reports", name: "newcomer_weight", def: 1.0,
		kind: of(func(c *Config) *float64 { return &c.Reports.NewcomerWeight }, value.Weight(0.01, 100)),
		doc:  "Weight of a new reporter. It grows when others report the same, and falls when\nthey revoke it: spambloom reporters shows it."},
	{section: "reports", name: "weight_floor", def: 0.0,
		kind: of(func(c *Config) *float64 { return &c.Reports.WeightFloor }, value.Weight(0, 100)),
		doc:  "The minimum weight, of a reporter who was always wrong."},
	{section: "reports", name: "weight_ceiling", def: 1.0,
		kind: of(func(c *Config) *float64 { return &c.Reports.WeightCeiling }, value.Weight(0.01, 100)),
		doc:  "The maximum weight. If it is below the quorum, no reporter decides alone."},
	{section: "reports", name: "weight_half_life", def: "720h",
		kind: of(func(c *Config) *time.Duration { return &c.Reports.WeightHalfLife }, value.Duration(time.Hour, 366*day)),
		doc:  "Time after which confirmations and contradictions by others count half."},
	{section: "reports", name: "hold_from", def: int64(20),
		kind: of(func(c *Config) *int64 { return &c.Reports.HoldFrom }, value.Integer(0, 1_000_000_000)),
		doc:  "A report that would hit so many mails of the last day that nobody reported is\nheld: it lists nothing until a second reporter or an administrator agrees\n(spambloom reports --contested). So one user cannot list a newsletter of all.\nReports of administrators are not held, and of spam traps only for mail of proven\nsenders whom this site knows. 0: no report is held."},
	{section: "reports", name: "max_per_hour", def: int64(1000),
		kind: of(func(c *Config) *int64 { return &c.Reports.MaxPerHour }, value.Integer(0, 1_000_000)),
		doc:  "Reports and revocations of one reporter in an hour, separately for each user,\nprogram or client that sends them; further ones are refused for a while. Spam\ntraps, root and the daemon's user have no limit. 0: no limit."},
	{section: "reports", name: "votes", def: int64(2),
		kind: of(func(c *Config) *int64 { return &c.Reports.Votes }, value.Integer(2, 64)),
		doc:  "How many sites with trust = \"vote\" are needed to list a message that no other\nsite reported."},
	{section: "reports", name: "period", def: "168h",
		kind: of(func(c *Config) *time.Duration { return &c.Reports.Period }, value.Duration(time.Hour, 366*day)),
		doc:  "Length of a generation of reports."},
	{section: "reports", name: "keep", def: int64(5),
		kind: of(func(c *Config) *int64 { return &c.Reports.Keep }, value.Integer(1, 60)),
		doc:  "Number of generations kept, including the current one: a report expires after\nkeep - 1 to keep periods."},
	{section: "reports", name: "capacity", def: int64(1_000_000),
		kind: of(func(c *Config) *int64 { return &c.Reports.Capacity }, value.Integer(1_000, 10_000_000)),
		doc:  "Number of reported messages in all kept generations and from all sites. It\ndetermines the memory."},
	{section: "reports", name: "max_error_per_mail", def: 1e-6,
		kind: of(func(c *Config) *float64 { return &c.Reports.MaxErrorPerMail }, value.Fraction(1e-9, 1e-2)),
		doc:  "Probability that an unreported message is judged spam when the filters are\nfilled to their capacity."},
	{section: "reports", name: "classes", def: false,
		kind: of(func(c *Config) *bool { return &c.Reports.Classes }, value.Boolean()),
		doc:  "Keep the classes of reports (spambloom report --class) and show them with the\nverdict. This takes a little more memory for reports: at the default capacity\n14 MB once all generations have classes, and 14 MB for those of other sites.\nSites may differ. When it is switched off, the classes are deleted."},
	{section: "reports", name: "sketches", def: true,
		kind: of(func(c *Config) *bool { return &c.Reports.Sketches }, value.Boolean()),
		doc:  "Keep the data that identifies near-duplicates of reported messages. At the\ndefault capacity it takes 151 MB once all generations have reports, and 151 MB\nfor those of other sites. Sites may differ. When it is switched off, the\nsketches are deleted."},
	{section: "reports", name: "shapes", def: true,
		kind: of(func(c *Config) *bool { return &c.Reports.Shapes }, value.Boolean()),
		doc:  "Recognise the structure of a reported page if something else joins it: reports\nunder other senders' domains, or some of its words, links and pictures. It is\nkept with the sketches, and needs them. Sites may differ."},
	{section: "reports", name: "commonness", def: true,
		kind: of(func(c *Config) *bool { return &c.Reports.Commonness }, value.Boolean()),
		doc:  "Learn what this site sees again and again in mail that nobody reports: texts,\npages, pictures and links that mail of three senders has had on three days over\ntwo weeks are no evidence. Senders count once their mail has arrived for two to\nthree weeks. It needs authserv_id in [milter], because senders must be proved,\nand reports that are kept for three weeks (period, keep).\nIt takes 0.2 to 15 MB for each period of reports. Nothing of it is exchanged.\nUntil anything can be common, near matches list mail of proved senders only with\nnearly all of a report.\nWhen it is switched off, what was learned is deleted."},

	{section: "domains", name: "alone", def: true,
		kind: of(func(c *Config) *bool { return &c.Domains.Alone }, value.Boolean()),
		doc:  "Judge a message spam for a single link if its domain was reported here in at\nleast as many campaigns as set below, and hardly ever occurs in other mail. It\ntakes some 9,000 messages with links that nobody reported to be sure of that: at\n99 % confidence, at most one of 2,000 innocent messages has the domain. Only\nthis site's own counts are used."},
	{section: "domains", name: "campaigns", def: int64(3),
		kind: of(func(c *Config) *int64 { return &c.Domains.Campaigns }, value.Integer(1, 1_000_000)),
		doc:  "Number of reported campaigns from which a domain is decisive by itself."},
	{section: "domains", name: "never_alone", def: []any{}, example: []any{"example.com"},
		kind: of(func(c *Config) *[]string { return &c.Domains.NeverAlone }, value.Registrable()),
		doc:  "Domains that are never decisive by themselves, in addition to the built-in\nlist of large senders, mail services and URL shorteners."},

	{section: "redis", name: "url", def: "", example: "redis://127.0.0.1:6379/0",
		kind: of(func(c *Config) *string { return &c.Redis.URL }, value.RedisURL()),
		doc:  "The Redis of the federation: redis://, rediss:// (TLS) or unix://, with user\nand password if needed. In these, write @ as %40, / as %2F, : as %3A, # as\n%23, ? as %3F and % as %25. Empty: this site is not connected."},
	{section: "redis", name: "ca", def: "", example: "/etc/spambloom/redis-ca.pem",
		kind: of(func(c *Config) *string { return &c.Redis.CA }, value.Path()),
		doc:  "File with the CA that signed the certificate of Redis, in PEM, for rediss://.\nDefault: the CAs of the system."},
	{section: "redis", name: "cert", def: "", example: "/etc/spambloom/redis.pem",
		kind: of(func(c *Config) *string { return &c.Redis.Cert }, value.Path()),
		doc:  "File with the client certificate for Redis, with its chain, in PEM. Default:\nnone."},
	{section: "redis", name: "key", def: "", example: "/etc/spambloom/redis.key",
		kind: of(func(c *Config) *string { return &c.Redis.Key }, value.Path()),
		doc:  "File with that certificate's private key, in PEM."},
	{section: "redis", name: "snapshot_limit", def: "512MiB",
		kind: of(func(c *Config) *int64 { return &c.Redis.SnapshotLimit }, value.Size(1<<20, 16<<30)),
		doc:  "How much of Redis this site's snapshot may take; other sites read data from it\nthat they missed. While a new one is written there are two. Data beyond the\nlimit is omitted, the oldest counts first."},

	{section: peerSection, name: "name", def: "", example: "mx2",
		kind: of(ofPeer(func(p *Peer) *string { return &p.Name }), value.Name("a site name")),
		doc:  "Name of the site, as in its [site]."},
	{section: peerSection, name: "key", def: "", example: "ed25519:GX9rI+FshTLGq8g4+s1eqmN5t8KA7pUzX4AZCV1GW/g=",
		kind: of(ofPeer(func(p *Peer) *string { return &p.Key }), value.Text(`a public key, "ed25519:" and base64`)),
		doc:  "Public key of the site. Optional if trust is none."},
	{section: peerSection, name: "next_key", def: "", example: "ed25519:6kqIo0zI2I0ZcLvK0QvN5v2FtMOhPKuqRkC8FrRWXgk=",
		kind: of(ofPeer(func(p *Peer) *string { return &p.NextKey }), value.Text(`a public key, "ed25519:" and base64`)),
		doc:  "A second key that is also valid, while the site changes its key."},
	{section: peerSection, name: "trust", def: "full",
		kind: of(ofPeer(func(p *Peer) *string { return &p.Trust }), value.Choice("full", "vote", "none")),
		doc:  "full: its reports and counts act like this site's own. vote: a message that it\nreported lately is spam once reports.votes such sites reported it; its counts\nare ignored. none: everything from it is ignored."},
	{section: peerSection, name: "max_reports", def: int64(0),
		kind: of(ofPeer(func(p *Peer) *int64 { return &p.MaxReports }), value.Integer(0, 10_000_000)),
		doc:  "Maximum number of the site's reported messages in one reports.period; further\nones are refused until the next period. 0: half of the capacity of a period's\nfilters, which is an eighth of reports.capacity if keep is 5."},
	{section: peerSection, name: "max_counts", def: int64(0),
		kind: of(ofPeer(func(p *Peer) *int64 { return &p.MaxCounts }), value.Integer(0, 4_000_000_000)),
		doc:  "Maximum number of the site's counted messages in one bulk.period. 0: four\ntimes bulk.capacity, and at least 1,000,000."},

	{section: trapSection, name: "name", def: "", example: "trap1",
		kind: of(ofTrap(func(t *Trap) *string { return &t.Name }), value.Name("a name")),
		doc:  "Name of the trap, in its reports and metrics."},
	{section: trapSection, name: "maildir", def: "", example: "/var/mail/trap",
		kind: of(ofTrap(func(t *Trap) *string { return &t.Maildir }), value.Folder()),
		doc:  "The Maildir. The daemon's user must be able to read its mail and to move it."},
	{section: trapSection, name: "class", def: "other",
		kind: of(ofTrap(func(t *Trap) *string { return &t.Class }), value.Choice("other", "phish", "scam", "malware", "bulk")),
		doc:  "The class with which its mail is reported."},

	{section: "control", name: "listen", def: "", example: "unix:/run/spambloom/control.sock",
		kind: of(func(c *Config) *string { return &c.Control.Listen }, value.Text(`a unix socket such as "unix:/run/spambloom/control.sock"`)),
		doc:  "Unix socket, mode 0660. Default: control.sock in systemd's RUNTIME_DIRECTORY\nif there is one, otherwise spambloom.sock in the state folder."},
	{section: "control", name: "group", def: "", example: "spambloom",
		kind: of(func(c *Config) *string { return &c.Control.Group }, value.Text("the name of a group")),
		doc:  "Group that may use the control socket and the milter's unix sockets: its\nmembers may check, report and revoke. Root and the daemon's user may do\neverything, and only they administrate (never, retouch, undo, mute, drop,\nbackup, weights of reporters). The daemon's user must be in the group. The\ngroup must be able to enter the sockets' folders, and the state folder\nexcludes it: set listen too, unless systemd runs the daemon. Default: the\ndaemon's own group; then every user who can open the control socket may check\nand report."},
	{section: "control", name: "delegates", def: []any{}, example: []any{"vmail", "dovecot"}, live: true,
		kind: of(func(c *Config) *[]string { return &c.Control.Delegates }, value.Texts("login names")),
		doc:  "Login names of programs that report for other users (spambloom report --as),\nsuch as a mail store. All other users report only for themselves, except root\nand the daemon's user."},
	{section: "control", name: "remote", def: "", example: "0.0.0.0:8897",
		kind: of(func(c *Config) *string { return &c.Control.Remote }, value.Text(`HOST:PORT such as "0.0.0.0:8897"`)),
		doc:  "Address on which mail stores on other machines may check and report, over TLS.\nThey act for their users and cannot administrate. Requires remote_cert and\nremote_key, and remote_clients_ca or remote_tokens or both (reporting/API.md).\nEmpty: none."},
	{section: "control", name: "remote_cert", def: "", example: "/etc/spambloom/remote.crt", live: true,
		kind: of(func(c *Config) *string { return &c.Control.RemoteCert }, value.Path()),
		doc:  "Certificate of this machine with its chain, PEM. It is read again on SIGHUP,\nlike the three files below."},
	{section: "control", name: "remote_key", def: "", example: "/etc/spambloom/remote.key", live: true,
		kind: of(func(c *Config) *string { return &c.Control.RemoteKey }, value.Path()),
		doc:  "Its private key, PEM."},
	{section: "control", name: "remote_clients_ca", def: "", example: "/etc/spambloom/clients-ca.crt", live: true,
		kind: of(func(c *Config) *string { return &c.Control.RemoteClientsCA }, value.Path()),
		doc:  "CA of the clients, PEM. A client with a certificate signed by it for client\nuse has access, under its first DNS name, or else its common name. Empty: no\naccess by certificate."},
	{section: "control", name: "remote_tokens", def: "", example: "/etc/spambloom/tokens", live: true,
		kind: of(func(c *Config) *string { return &c.Control.RemoteTokens }, value.Path()),
		doc:  "File with the clients' tokens, mode 0600, one line for each as printed by\nspambloom token. Empty: no access by token."},

	{section: "http", name: "listen", def: "127.0.0.1:8898",
		kind: of(func(c *Config) *string { return &c.HTTP.Listen }, value.Text(`HOST:PORT such as "127.0.0.1:8898"`)),
		doc:  "The page for people at /, /metrics for Prometheus, /healthz and /readyz.\nEverybody who can connect sees figures, without names of reporters; spambloom\nweb signs users in. Keep it on loopback or behind a firewall. Empty: none."},
	{section: "http", name: "names", def: []any{}, example: []any{"mx1.example.org"},
		kind: of(func(c *Config) *[]string { return &c.HTTP.Names }, value.Texts("host names")),
		doc:  "Further host names for which it answers, such as that of a reverse proxy. It\nalways answers for addresses, localhost, the host name, the site's name and\nlisten. It refuses requests for other names, so that no web page can read it\nthrough a visitor's browser."},

	{section: "log", name: "level", def: "info", live: true,
		kind: of(func(c *Config) *string { return &c.Log.Level }, value.Choice("debug", "info", "warn", "error")),
		doc:  "Lowest level that is logged. The line for each message has the level info."},
	{section: "log", name: "format", def: "text",
		kind: of(func(c *Config) *string { return &c.Log.Format }, value.Choice("text", "json")),
		doc:  "One line per event: key=value text, or JSON."},
	{section: "log", name: "privacy", def: false, live: true,
		kind: of(func(c *Config) *bool { return &c.Log.Privacy }, value.Boolean()),
		doc:  "Write pseudonyms (h: and 12 hex digits) instead of IP addresses, mail\naddresses, Message-IDs, login names and the domains of known senders (spared).\nOne address has one pseudonym, made with a key of this site, so that it can be\nfollowed. This affects only the log and the page's list of mail:\nspambloom reports still shows reporters."},
}

// peerSection is written [[peer]], once for each site.
const peerSection = "peer"

// ofPeer is a field of the last peer, which is the one being read.
func ofPeer[T any](field func(*Peer) *T) func(*Config) *T {
	return func(c *Config) *T { return field(&c.Peers[len(c.Peers)-1]) }
}

// trapSection is written [[trap]], once for each Maildir.
const trapSection = "trap"

// ofTrap is a field of the last trap, which is the one being read.
func ofTrap[T any](field func(*Trap) *T) func(*Config) *T {
	return func(c *Config) *T { return field(&c.Traps[len(c.Traps)-1]) }
}

func lookup(path string) key {
	for _, k := range keys {
		if k.path() == path {
			return k
		}
	}
	panic("config: no key " + path)
}
