package config

import (
	"io/fs"
	"slices"
	"time"
)

// key is one line of the table that is the source of everything about the
// configuration.
type key struct {
	section, name string
	kind          kind
	def           any    // default, as the TOML decoder gives it
	example       any    // stands in the example file where the default is empty
	live          bool   // a running daemon takes it over on HUP
	doc           string // wrapped by hand at 76 columns
}

func (k key) path() string { return k.section + "." + k.name }

// sections in the order of the example file.
var sections = []struct{ name, doc string }{
	{"site", "Who this machine is in the federation."},
	{"milter", "What Postfix or Sendmail talks to."},
	{"actions", "What is done with a message, by verdict: accept (the message passes as it\ncame, without our headers), tag (headers only), quarantine (the MTA's hold\nqueue), reject (550 5.7.1), tempfail (451 4.7.1), discard."},
	{"bulk", "How often a message was seen. Bulk is not spam: newsletters are bulk too."},
	{"reports", "Messages that people reported as spam. Period, keep, capacity and\nmax_error_per_mail size the shared filters and must be the same on all sites\nof a federation."},
	{"domains", "What the domains of links say."},
	{"redis", "How reports and counts travel to the other sites."},
	{peerSection, "Another site of the federation, one such table for each. spambloom keygen prints\nthe table that a site gives to the others. Without any, every site that proves\nthe federation key is heard in full, whatever name it gives itself; once there is\none, only those that are named, and only what is signed with their keys. A table\nof this site itself does no harm, so that all sites may have the same tables."},
	{policySection, "What is done otherwise for some recipients, domains or listeners, one such table\nfor each group (contrib/policy.md). The table that names the recipient decides\nbefore the one that names its domain, that before the one that names the listener,\nand that before [actions] and bulk.threshold, key by key. A message to recipients\nwith different policies gets the mildest action: accept, tag, quarantine,\ntempfail, reject, discard, in this order."},
	{allowSection, "Mail that is let through whatever is thought of it, one such table for each rule\n(contrib/policy.md): the verdict is allowed, and the mail is neither signed nor\ncounted. A rule matches a message if each of its keys that is set does."},
	{trapSection, "A Maildir whose mail is all spam, one such table for each: that of an address which\nnobody ever wrote to (contrib/traps.md). New mail in it is reported as it comes,\nby the reporter trap:NAME, and moved from new/ to cur/ as seen."},
	{"control", "What the command spambloom talks to."},
	{"http", "Metrics and health."},
	{"log", "What is written to standard error."},
}

// actions that a verdict can have.
var actions = []string{"accept", "tag", "quarantine", "reject", "tempfail", "discard"}

const day = 24 * time.Hour

var keys = slices.Concat(generalKeys, policyKeys, allowKeys)

var generalKeys = []key{
	{section: "site", name: "name", def: "", example: "mx1",
		kind: siteName(func(c *Config) *string { return &c.Site.Name }),
		doc:  "Name of this site, unique in the federation; 1 to 64 letters, digits and\n\".\", \"_\", \"-\", no dot first. Default: the host name."},
	{section: "site", name: "federation_key", def: "", example: "/etc/spambloom/federation.key",
		kind: text(func(c *Config) *string { return &c.Site.FederationKey }, "a path"),
		doc:  "File with the key that all sites of the federation share: 64 hex digits on\none line, mode 0600. Made at the first start where it is missing. Default:\nfederation.key in the state folder."},
	{section: "site", name: "previous_federation_key", def: "", example: "/etc/spambloom/federation-before.key",
		kind: text(func(c *Config) *string { return &c.Site.PreviousKey }, "a path"),
		doc:  "File with the key that federation_key takes the place of. What is known under it\nstays known, and sites that do not have the new key yet are heard and told as\nbefore, in as much memory again. Leave it out when the status says so\n(contrib/federation.md). Default: none."},
	{section: "site", name: "signing_key", def: "", example: "/etc/spambloom/site.key",
		kind: text(func(c *Config) *string { return &c.Site.SigningKey }, "a path"),
		doc:  "File with the Ed25519 key that this site signs its records with, mode 0600.\nMade at the first start where it is missing, or before by spambloom keygen.\nDefault: site.key in the state folder."},

	{section: "milter", name: "listen", def: []any{"inet:8899@127.0.0.1"},
		kind: texts(func(c *Config) *[]string { return &c.Milter.Listen }, `addresses such as "inet:8899@127.0.0.1" or "unix:/run/spambloom/milter.sock"`),
		doc:  "Addresses to listen on: inet:PORT@HOST, inet:HOST:PORT, inet6:PORT@[HOST],\nunix:PATH or local:PATH. Sockets handed over by systemd are used instead."},
	{section: "milter", name: "group", def: "", example: "postfix",
		kind: text(func(c *Config) *string { return &c.Milter.Group }, "the name of a group"),
		doc:  "Group of the unix sockets in listen. Default: control.group."},
	{section: "milter", name: "socket_mode", def: "0660",
		kind: mode(func(c *Config) *fs.FileMode { return &c.Milter.SocketMode }),
		doc:  "Mode of the unix sockets in listen: who may connect must be able to write."},
	{section: "milter", name: "local_networks", def: []any{"127.0.0.0/8", "::1/128"}, live: true,
		kind: prefixes(func(c *Config) *prefixList { return &c.Milter.LocalNetworks }),
		doc:  "Mail from clients in these networks is neither judged nor counted."},
	{section: "milter", name: "skip_authenticated", def: true, live: true,
		kind: boolean(func(c *Config) *bool { return &c.Milter.SkipAuthenticated }),
		doc:  "Mail from authenticated senders is neither judged nor counted."},
	{section: "milter", name: "max_message", def: "10MiB", live: true,
		kind: size(func(c *Config) *int64 { return &c.Milter.MaxMessage }, 64<<10, 1<<30),
		doc:  "How much of a message is kept in memory for judging it. A larger one is judged\non its beginning, so a report of it may not match its copies."},
	{section: "milter", name: "oversize", def: "judge", live: true,
		kind: choice(func(c *Config) *string { return &c.Milter.Oversize }, "judge", "skip"),
		doc:  "A larger message is judged by what was kept of it (judge), or not at all\n(skip)."},
	{section: "milter", name: "on_failure", def: "accept", live: true,
		kind: choice(func(c *Config) *string { return &c.Milter.OnFailure }, "accept", "tempfail"),
		doc:  "What happens to a message that could not be judged for a fault of ours: it passes\nwith a header that says so (accept), or the sender is asked to try again later\n(tempfail)."},
	{section: "milter", name: "on_overload", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Milter.OnOverload }, "accept", "tempfail"),
		doc:  "The same where its turn did not come in judge_timeout, or where so many messages\nfailed that judging is suspended. Default: as on_failure."},
	{section: "milter", name: "on_error", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Milter.OnError }, "accept", "tempfail"),
		doc:  "The same where the program failed in itself, or the MTA refused its answer.\nDefault: as on_failure."},
	{section: "milter", name: "on_deadline", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Milter.OnDeadline }, "accept", "tempfail"),
		doc:  "The same where judging it took longer than judge_timeout. Default: as\non_failure."},
	{section: "milter", name: "authserv_id", def: "", example: "mx1.example.org", live: true,
		kind: authservID(func(c *Config) *string { return &c.Milter.AuthservID }),
		doc:  "The name that this site's own DKIM and SPF verifier writes into the\nAuthentication-Results that it adds, such as AuthservID of OpenDKIM. Only those are\nbelieved, for the key from of [[allow]]; the verifier must remove forged ones\n(contrib/policy.md). Empty: none is believed."},
	{section: "milter", name: "whiteclnt", def: "", example: "/var/dcc/whiteclnt", live: true,
		kind: text(func(c *Config) *string { return &c.Milter.Whiteclnt }, "a path"),
		doc:  "A whitelist of DCC's clients, whose lines with ok are read as allow rules; what is\nunderstood of it stands in contrib/policy.md. It is read again on SIGHUP. Empty:\nnone."},
	{section: "milter", name: "max_connections", def: int64(1000), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Milter.MaxConnections }, 1, 100_000),
		doc:  "Connections from MTAs at one time. More are closed at once."},
	{section: "milter", name: "max_connections_per_client", def: int64(250), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Milter.MaxConnectionsPerClient }, 0, 100_000),
		doc:  "Connections at one time from one MTA, by its address, or over one unix socket. All\nfrom this machine over TCP are one MTA's. It must be above the smtpd processes\nof the MTA (Postfix: default_process_limit, 100). 0: no limit beside\nmax_connections."},
	{section: "milter", name: "idle_timeout", def: "2h", live: true,
		kind: duration(func(c *Config) *time.Duration { return &c.Milter.IdleTimeout }, time.Second, 7*day),
		doc:  "How long an MTA may be silent between two commands. An SMTP client may take long\nfor its DATA, and the MTA waits for it."},
	{section: "milter", name: "content_timeout", def: "5m", live: true,
		kind: duration(func(c *Config) *time.Duration { return &c.Milter.ContentTimeout }, time.Second, 7*day),
		doc:  "How long an MTA may be silent within header and body, which it sends from its\ndisk."},
	{section: "milter", name: "write_timeout", def: "30s", live: true,
		kind: duration(func(c *Config) *time.Duration { return &c.Milter.WriteTimeout }, time.Second, time.Hour),
		doc:  "How long an MTA may take to accept an answer."},
	{section: "milter", name: "judge_timeout", def: "30s", live: true,
		kind: duration(func(c *Config) *time.Duration { return &c.Milter.JudgeTimeout }, time.Second, time.Hour),
		doc:  "How long the judgement of a message may take, with the time that it waits for its\nturn. The MTA must wait longer (Postfix: milter_content_timeout, 300 s)."},
	{section: "milter", name: "connection_timeout", def: "24h", live: true,
		kind: duration(func(c *Config) *time.Duration { return &c.Milter.ConnectionTimeout }, time.Second, 31*day),
		doc:  "Age from which on a connection is closed between two messages, and an hour later\nin any case."},
	{section: "milter", name: "max_memory", def: "320MiB", live: true,
		kind: size(func(c *Config) *int64 { return &c.Milter.MaxMemory }, 1<<20, 1<<40),
		doc:  "How much of all messages in flight is kept in memory together; at least\nmax_message. Beyond it each may still have 64 KiB."},
	{section: "milter", name: "over_memory", def: "head", live: true,
		kind: choice(func(c *Config) *string { return &c.Milter.OverMemory }, "head", "spill"),
		doc:  "A message for which no memory is left is judged on what was kept of it (head), or\nthe rest goes to a temporary file without a name in the state folder (spill): of\nall messages together at most four times max_memory, and only as long as 256 MiB\nof that disk stay free for reports."},
	{section: "milter", name: "grace", def: "1m", live: true,
		kind: durationOrNone(func(c *Config) *time.Duration { return &c.Milter.Grace }, time.Second, time.Hour),
		doc:  "How long a stop waits for messages and requests in flight before it cuts\nthem."},

	{section: "actions", name: "spam", def: "tag", live: true,
		kind: choice(func(c *Config) *string { return &c.Actions.Spam }, actions...),
		doc:  "Reported as spam, and not revoked."},
	{section: "actions", name: "spam_phish", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Actions.SpamPhish }, actions...),
		doc:  "Spam that was reported as phishing. It takes reports.classes. Default: as spam;\nso are the three below."},
	{section: "actions", name: "spam_scam", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Actions.SpamScam }, actions...),
		doc:  "Spam that was reported as a scam."},
	{section: "actions", name: "spam_malware", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Actions.SpamMalware }, actions...),
		doc:  "Spam that was reported as malware."},
	{section: "actions", name: "spam_bulk", def: "", live: true,
		kind: choiceOrNone(func(c *Config) *string { return &c.Actions.SpamBulk }, actions...),
		doc:  "Spam that was reported as unwanted bulk mail."},
	{section: "actions", name: "bulk", def: "tag", live: true,
		kind: choice(func(c *Config) *string { return &c.Actions.Bulk }, actions...),
		doc:  "Seen at least bulk.threshold times."},
	{section: "actions", name: "clean", def: "tag", live: true,
		kind: choice(func(c *Config) *string { return &c.Actions.Clean }, actions...),
		doc:  "Everything else."},

	{section: "bulk", name: "threshold", def: int64(20), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Bulk.Threshold }, 2, 1_000_000_000),
		doc:  "Sightings, over all sites, from which on a message is bulk."},
	{section: "bulk", name: "period", def: "24h",
		kind: duration(func(c *Config) *time.Duration { return &c.Bulk.Period }, time.Hour, 31*day),
		doc:  "Length of a counting generation."},
	{section: "bulk", name: "keep", def: int64(2),
		kind: integer(func(c *Config) *int64 { return &c.Bulk.Keep }, 1, 31),
		doc:  "Generations that are kept, the current one included."},
	{section: "bulk", name: "capacity", def: int64(20_000_000),
		kind: integer(func(c *Config) *int64 { return &c.Bulk.Capacity }, 1_000, 1_000_000_000),
		doc:  "Different messages that this site counts in one period. It sizes the memory."},
	{section: "bulk", name: "count", def: "recipients", live: true,
		kind: choice(func(c *Config) *string { return &c.Bulk.Count }, "recipients", "messages"),
		doc:  "A message to three recipients counts three times (recipients) or once\n(messages). Over TCP that is so for MTAs in count_networks only."},
	{section: "bulk", name: "count_networks", def: []any{}, example: []any{"192.0.2.25/32"}, live: true,
		kind: prefixes(func(c *Config) *prefixList { return &c.Bulk.CountNetworks }),
		doc:  "MTAs that are believed about the number of recipients when they connect over TCP.\nA message of another one counts once: a local user, or another client that reaches\nthe port, could otherwise make a newsletter bulk with one message to thousands.\nAn MTA on a unix socket is always believed. Default: none."},
	{section: "bulk", name: "burst", def: "10m",
		kind: durationOrNone(func(c *Config) *time.Duration { return &c.Bulk.Burst }, time.Minute, time.Hour),
		doc:  "spambloom explain also says how often this site saw a message in so short a\ntime, up to now. It is kept in memory only, 2 MiB with the defaults; the memory\ngrows with capacity / period * burst. \"0s\": off."},

	{section: "bulk", name: "greylist", def: false, live: true,
		kind: boolean(func(c *Config) *bool { return &c.Bulk.Greylist }),
		doc:  "Ask the sender of a message that is about to become bulk to try again later, once\n(451): real MTAs do, and meanwhile the message may be reported. It takes\nburst."},
	{section: "bulk", name: "greylist_from", def: int64(5), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Bulk.GreylistFrom }, 2, 1_000_000_000),
		doc:  "Sightings by this site within burst from which on that is done, where the\nrecipients of the message itself are one; it must be below threshold."},

	{section: "reports", name: "quorum", def: 1.0,
		kind: weight(func(c *Config) *float64 { return &c.Reports.Quorum }, 0.1, 100),
		doc:  "Summed weight of different reporters that lists a message, or takes it back.\nWith 1.0 and the weights below, each user counts at once, which suits a small\nsite; contrib/quorum.md recommends what suits larger ones."},
	{section: "reports", name: "newcomer_weight", def: 1.0,
		kind: weight(func(c *Config) *float64 { return &c.Reports.NewcomerWeight }, 0.01, 100),
		doc:  "Weight of a reporter of whom nothing is known. It grows as others report the\nsame, and falls as they take it back: spambloom reporters shows it."},
	{section: "reports", name: "weight_floor", def: 0.0,
		kind: weight(func(c *Config) *float64 { return &c.Reports.WeightFloor }, 0, 100),
		doc:  "The least weight, of a reporter who was always wrong."},
	{section: "reports", name: "weight_ceiling", def: 1.0,
		kind: weight(func(c *Config) *float64 { return &c.Reports.WeightCeiling }, 0.01, 100),
		doc:  "The greatest weight. Below the quorum, nobody decides alone."},
	{section: "reports", name: "weight_half_life", def: "720h",
		kind: duration(func(c *Config) *time.Duration { return &c.Reports.WeightHalfLife }, time.Hour, 366*day),
		doc:  "Time after which it counts half that others confirmed a reporter, or were of\nanother mind."},
	{section: "reports", name: "max_per_hour", def: int64(1000),
		kind: integer(func(c *Config) *int64 { return &c.Reports.MaxPerHour }, 0, 1_000_000),
		doc:  "Reports and revocations of one reporter in an hour; more are refused for a\nwhile. Spam traps, root and the daemon's user have no limit. 0: nobody has."},
	{section: "reports", name: "votes", def: int64(2),
		kind: integer(func(c *Config) *int64 { return &c.Reports.Votes }, 2, 64),
		doc:  "How many sites with trust = \"vote\" it takes to call a message spam that no other\nsite reported."},
	{section: "reports", name: "period", def: "168h",
		kind: duration(func(c *Config) *time.Duration { return &c.Reports.Period }, time.Hour, 366*day),
		doc:  "Length of a generation of reports."},
	{section: "reports", name: "keep", def: int64(5),
		kind: integer(func(c *Config) *int64 { return &c.Reports.Keep }, 1, 60),
		doc:  "Generations that are kept, the current one included: a report is forgotten\nafter keep - 1 to keep periods."},
	{section: "reports", name: "capacity", def: int64(1_000_000),
		kind: integer(func(c *Config) *int64 { return &c.Reports.Capacity }, 1_000, 10_000_000),
		doc:  "Reported messages over all kept generations and all sites. It sizes the\nmemory."},
	{section: "reports", name: "max_error_per_mail", def: 1e-6,
		kind: fraction(func(c *Config) *float64 { return &c.Reports.MaxErrorPerMail }, 1e-9, 1e-2),
		doc:  "Chance that a message which nobody reported is called spam, with the filters\nfilled to their capacity."},
	{section: "reports", name: "classes", def: false,
		kind: boolean(func(c *Config) *bool { return &c.Reports.Classes }),
		doc:  "Keep the classes of reports (spambloom report --class) and name them with the\nverdict. It takes a quarter more memory for reports: at the default capacity\n27 MB once all generations have classes, and 27 MB for those of other sites.\nSites may differ. Switched off, the classes are forgotten."},
	{section: "reports", name: "sketches", def: true,
		kind: boolean(func(c *Config) *bool { return &c.Reports.Sketches }),
		doc:  "Keep what near-duplicates of reported messages are told by. At the default\ncapacity it takes 85 MB once all generations have reports, and 85 MB for those of\nother sites. Sites may differ. Switched off, the sketches are forgotten."},

	{section: "domains", name: "alone", def: true,
		kind: boolean(func(c *Config) *bool { return &c.Domains.Alone }),
		doc:  "Call a message spam for a link whose domain was reported here in so many\ncampaigns and is hardly ever in other mail. The counts are this site's own."},
	{section: "domains", name: "campaigns", def: int64(3),
		kind: integer(func(c *Config) *int64 { return &c.Domains.Campaigns }, 1, 1_000_000),
		doc:  "Reported campaigns from which on a domain is called spam's alone."},
	{section: "domains", name: "never_alone", def: []any{}, example: []any{"example.com"},
		kind: texts(func(c *Config) *[]string { return &c.Domains.NeverAlone }, `registrable domains such as "example.com"`),
		doc:  "Domains that say nothing against a message that links to them, beside those\nof large senders, mail services and shorteners, which are built in."},

	{section: "redis", name: "url", def: "", example: "redis://127.0.0.1:6379/0",
		kind: redisURL(func(c *Config) *string { return &c.Redis.URL }),
		doc:  "The Redis of the federation: redis://, rediss:// (TLS) or unix://, with user\nand password where needed. In these, write @ as %40, / as %2F, : as %3A, # as %23,\n? as %3F and % as %25. Empty: this site works alone."},
	{section: "redis", name: "ca", def: "", example: "/etc/spambloom/redis-ca.pem",
		kind: text(func(c *Config) *string { return &c.Redis.CA }, "a path"),
		doc:  "File of the CA that signed the certificate of Redis, in PEM, for rediss://.\nDefault: the CAs of the system."},
	{section: "redis", name: "cert", def: "", example: "/etc/spambloom/redis.pem",
		kind: text(func(c *Config) *string { return &c.Redis.Cert }, "a path"),
		doc:  "File of the certificate that Redis asks for, with its chain, in PEM. Default: none."},
	{section: "redis", name: "key", def: "", example: "/etc/spambloom/redis.key",
		kind: text(func(c *Config) *string { return &c.Redis.Key }, "a path"),
		doc:  "File of that certificate's private key, in PEM."},
	{section: "redis", name: "snapshot_limit", def: "512MiB",
		kind: size(func(c *Config) *int64 { return &c.Redis.SnapshotLimit }, 1<<20, 16<<30),
		doc:  "How much this site's snapshot may take in Redis, from which others get what they\nmissed. While a new one is written there are two. What does not fit is left out,\nthe oldest counts first."},

	{section: peerSection, name: "name", def: "", example: "mx2",
		kind: siteName(ofPeer(func(p *Peer) *string { return &p.Name })),
		doc:  "Name of the site, as its [site] has it."},
	{section: peerSection, name: "key", def: "", example: "ed25519:GX9rI+FshTLGq8g4+s1eqmN5t8KA7pUzX4AZCV1GW/g=",
		kind: text(ofPeer(func(p *Peer) *string { return &p.Key }), `a public key, "ed25519:" and base64`),
		doc:  "Public key of the site. It may be missing where trust is none."},
	{section: peerSection, name: "next_key", def: "", example: "ed25519:6kqIo0zI2I0ZcLvK0QvN5v2FtMOhPKuqRkC8FrRWXgk=",
		kind: text(ofPeer(func(p *Peer) *string { return &p.NextKey }), `a public key, "ed25519:" and base64`),
		doc:  "A second key that is good as well, while the site changes its key."},
	{section: peerSection, name: "trust", def: "full",
		kind: choice(ofPeer(func(p *Peer) *string { return &p.Trust }), "full", "vote", "none"),
		doc:  "full: its reports and counts act as this site's own do. vote: a message that it\nreported lately is spam once reports.votes such sites say so; its counts are not\nheard. none: nothing of it is heard."},
	{section: peerSection, name: "max_reports", def: int64(0),
		kind: integer(ofPeer(func(p *Peer) *int64 { return &p.MaxReports }), 0, 10_000_000),
		doc:  "Messages that are taken of the site's reports in one reports.period; what goes\nbeyond is refused until the next one. 0: half of what the filters of a period are\nmade for, an eighth of reports.capacity where keep is 5."},
	{section: peerSection, name: "max_counts", def: int64(0),
		kind: integer(ofPeer(func(p *Peer) *int64 { return &p.MaxCounts }), 0, 4_000_000_000),
		doc:  "Messages that are taken of the site's counts in one bulk.period. 0: four times\nbulk.capacity, and at least 1,000,000."},

	{section: trapSection, name: "name", def: "", example: "trap1",
		kind: fitName(ofTrap(func(t *Trap) *string { return &t.Name }), "a name"),
		doc:  "Name of the trap, in the reports' reporter and in the metrics."},
	{section: trapSection, name: "maildir", def: "", example: "/var/mail/trap",
		kind: folder(ofTrap(func(t *Trap) *string { return &t.Maildir })),
		doc:  "The Maildir. The daemon's user must be able to read its mail and to move it."},
	{section: trapSection, name: "class", def: "other",
		kind: choice(ofTrap(func(t *Trap) *string { return &t.Class }), "other", "phish", "scam", "malware", "bulk"),
		doc:  "As what its mail is reported."},

	{section: "control", name: "listen", def: "", example: "unix:/run/spambloom/control.sock",
		kind: text(func(c *Config) *string { return &c.Control.Listen }, `a unix socket such as "unix:/run/spambloom/control.sock"`),
		doc:  "Unix socket, mode 0660. Default: control.sock in the RUNTIME_DIRECTORY of\nsystemd where there is one, else spambloom.sock in the state folder."},
	{section: "control", name: "group", def: "", example: "spambloom",
		kind: text(func(c *Config) *string { return &c.Control.Group }, "the name of a group"),
		doc:  "Group that may use the control socket and the milter's unix sockets: its members\nask, report and revoke. Root and the daemon's user may do everything, and only\nthey administrate (never, retouch, undo, mute, drop, backup, weights of\nreporters). The daemon's user must be in the group, and it must get into the\nsockets' folders, which the state folder allows nobody: set listen too, unless\nsystemd runs the daemon. Default: the daemon's own; then whoever can open the\ncontrol socket may ask and report."},
	{section: "control", name: "delegates", def: []any{}, example: []any{"vmail", "dovecot"}, live: true,
		kind: texts(func(c *Config) *[]string { return &c.Control.Delegates }, "login names"),
		doc:  "Login names of programs that report in the names of others (spambloom report\n--as), such as a mail store's. Everybody else reports in their own name, but for\nroot and the daemon's user."},
	{section: "control", name: "remote", def: "", example: "0.0.0.0:8897",
		kind: text(func(c *Config) *string { return &c.Control.Remote }, `HOST:PORT such as "0.0.0.0:8897"`),
		doc:  "Address on which mail stores on other machines ask and report, over TLS. They\nspeak for their users and administrate nothing. It takes remote_cert and\nremote_key, and remote_clients_ca or remote_tokens or both (reporting/API.md).\nEmpty: none."},
	{section: "control", name: "remote_cert", def: "", example: "/etc/spambloom/remote.crt", live: true,
		kind: text(func(c *Config) *string { return &c.Control.RemoteCert }, "a path"),
		doc:  "Certificate of this machine with its chain, PEM. It is read again on SIGHUP, as\nare the three files below."},
	{section: "control", name: "remote_key", def: "", example: "/etc/spambloom/remote.key", live: true,
		kind: text(func(c *Config) *string { return &c.Control.RemoteKey }, "a path"),
		doc:  "Its private key, PEM."},
	{section: "control", name: "remote_clients_ca", def: "", example: "/etc/spambloom/clients-ca.crt", live: true,
		kind: text(func(c *Config) *string { return &c.Control.RemoteClientsCA }, "a path"),
		doc:  "CA of the clients, PEM: whoever has a certificate that it signed for clients is\nlet in, under its first DNS name, else its common name. Empty: nobody is by a\ncertificate."},
	{section: "control", name: "remote_tokens", def: "", example: "/etc/spambloom/tokens", live: true,
		kind: text(func(c *Config) *string { return &c.Control.RemoteTokens }, "a path"),
		doc:  "File of the clients' tokens, mode 0600, one line for each as spambloom token\nprints it. Empty: nobody is let in by a token."},

	{section: "http", name: "listen", def: "127.0.0.1:8898",
		kind: text(func(c *Config) *string { return &c.HTTP.Listen }, `HOST:PORT such as "127.0.0.1:8898"`),
		doc:  "/metrics for Prometheus, /healthz, /readyz, and / for people. It asks for no\npassword: keep it on loopback or behind a firewall. Empty: none."},
	{section: "http", name: "names", def: []any{}, example: []any{"mx1.example.org"},
		kind: texts(func(c *Config) *[]string { return &c.HTTP.Names }, "host names"),
		doc:  "Further host names under which it answers, such as that of a reverse proxy. It\nalways answers under addresses, localhost, the name of the host, of the site and of\nlisten. A request for another name is refused, so that no web page can read it\nthrough a visitor's browser."},

	{section: "log", name: "level", def: "info", live: true,
		kind: choice(func(c *Config) *string { return &c.Log.Level }, "debug", "info", "warn", "error"),
		doc:  "Least severe level that is logged. The line for each message is info."},
	{section: "log", name: "format", def: "text",
		kind: choice(func(c *Config) *string { return &c.Log.Format }, "text", "json"),
		doc:  "One line an event: key=value text, or JSON."},
	{section: "log", name: "privacy", def: false, live: true,
		kind: boolean(func(c *Config) *bool { return &c.Log.Privacy }),
		doc:  "Write pseudonyms (h: and 12 hex digits) in place of IP addresses, mail addresses,\nMessage-IDs and login names. One address has one pseudonym, by a key of this site,\nso that it can be followed. It is about the log: spambloom reports names reporters\nall the same."},
}

// peerSection is written [[peer]], once for each site.
const peerSection = "peer"

// ofPeer is a field of the last peer, which is the one that is read.
func ofPeer[T any](field func(*Peer) *T) func(*Config) *T {
	return func(c *Config) *T { return field(&c.Peers[len(c.Peers)-1]) }
}

// trapSection is written [[trap]], once for each Maildir.
const trapSection = "trap"

// ofTrap is a field of the last trap, likewise.
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
