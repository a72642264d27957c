// Package bloomdb is the database of one site: which signatures were reported as spam, which
// listings were revoked, and how often each message was seen, on this site and on every other
// site of the federation. It owns the state folder and its formats (FORMAT.md), the generations
// and their expiry, and the records of the exchange. It does no network I/O: package exchange
// transfers the records.
//
// DB unites one or two keyspaces. Everything below it is in packages of its own, here in the
// order of their imports:
//
//	filter    the filters as data structures
//	layout    kinds, generations, shapes, classes, sizes
//	folder    files of the state folder, and its identity
//	keyring   keys, and hashes under them
//	clock     the time, without the jumps of the wall clock
//	journal   the log of this site's own changes
//	wire      records that go through Redis
//	mask      hidden bits of retouched messages
//	snapshot  files of filters
//	store     own filters, other sites' parts
//	never     messages on the never-list
//	recent    sightings of the last minutes and hours
//	sketch    near-duplicates
//	vote      votes of this site and of others
//	outbox    changes that have not been sent to other sites
//	peers     positions in the streams of other sites, caps, mutes
//	repair    damaged files
//	keyspace  all data under one federation key
//	judging   verdicts, from one keyspace or two
//	explain   traces of a message, for people to read
//	status    content and condition of a database
//	backup    copies of the state folder
//
// The life of a report:
//
//	DB.Report              never      is it on the never-list?
//	  isCampaign           bloomdb    DB.Judge: is it the first report of its campaign?
//	  update               bloomdb    for each keyspace: prepare, write, show
//	    PrepareReport      keyspace
//	      Ring.ReportHash  keyring    positions of its signatures and domains
//	      Index.Reported   sketch     groups of its sketches
//	      Index.Records    sketch     entries of the groups
//	      Register.Record  vote       the change of this site's votes
//	      Unmask           store      retouches that would hide it
//	      rungRecords      keyspace   rungs of what was reported and revoked before
//	    Append, Sync       journal    the records are on disk
//	    Set                store      the bits are set; now it is listed
//	      Note             outbox     the changed positions are pending
//	    Register.Apply     vote       this site's votes contain it
//
// The life of a mail:
//
//	DB.Judge               judging    Judge, with a Policy from the options
//	  ask                  keyring    positions under each key
//	  gather               store      which spam filters may contain one? For most mail, that is all
//	    Overlaps           sketch     near-duplicates
//	    votes              vote       sites that vote for it
//	    Counted            store      how often each site saw it
//	    Covers             never      its parts on the never-list
//	  unite                judging    the facts of two keyspaces
//	  decide               judging    the newest listing or revocation; the never-list last
//	DB.Count               keyspace   the message is counted: filter, then journal
//	  Counter.Add          recent
//
// The life of a delta:
//
//	Note                   outbox     changed positions are pending
//	NextDelta              outbox     a number is reserved in the identity, on disk
//	  EncodeDelta          wire       cells, signature, HMAC
//	                       exchange   Redis, another site
//	DB.Apply               peers
//	  DecodeDelta          wire       size, version, key, HMAC, signature of a member
//	    Witness            clock      its time may confirm a jump of the clock
//	  stateOf              peers      muted? stale? a gap?
//	  acceptable           peers      same parameters, within the site's caps
//	  JoinCells            store      the origin's part, and the joined bits of all
//	Published              outbox     the journal may be dropped up to here
//
// # State
//
// Three kinds of filter exist in generations, one for each UTC-aligned period: the spam filter
// and the revocation filter (Yan & Cho 2006, section 4), and the refined counting filter
// (section 3). If classes are enabled, a fourth filter contains the classes of reports (type
// Class). If sketches are enabled, a fifth one contains the groups of near-duplicates (package
// sketch). The site has its own filter of each kind, which only it changes. Filters of other
// sites are kept separately as compressed parts, so that the influence of each site can be
// shown and removed. For speed, the bits of all other sites are also joined in one filter by OR.
// Counts are never joined: a count is the sum over all sites of the smallest cell. Heuristic H1
// is applied to the site's own state only: on merged state it would count too low.
//
// # Judging
//
// The newest word about a signature decides. It is listed if that is a report. The newest
// generation with a report or a revocation has it. Within a generation, reports and revocations
// are the rungs of a ladder (layout.Rungs): report, revocation, report, and so on, 16 at most,
// each in the spam filter, the revocation filter, or the ladder filter. The highest rung decides.
// Only the first 8 rungs of other sites count, so that no site can use up all of them. The last two
// are for messages that an administrator settled. A message that changes sides more often stays revoked
// until the next period. A member's record of a period that begins in more than an hour is rejected:
// it would overrule all rungs of the current one. Generations that
// expire are dropped whole, which bounds the life of a wrong listing. A listing that stands is
// asked for its class, which names it and decides nothing.
//
// A message without a listed signature may be a near-duplicate of a reported one: one of its
// sketches matches if one site has stored enough of it in one generation (signature.Sketch).
// The same rules hold between reports and revocations, and revoking a message also
// revokes the listings of all its near-duplicates by their sketches. There are four exceptions.
// A message that was itself reported stays listed by its own signatures. Content that a revoked
// message carries, quotes or hides stays listed, with the domains of its links. A message that was
// itself revoked, by its body or text, is not listed by a sketch or a domain of the same generation
// or an older one. A match of a text that comes from other words than the revoked ones stands, so
// that these do not shield a reported spam above them (sketch.Query.Apart). It is more important that
// no legitimate mail is listed because it resembles a revoked message.
//
// Retouch removes a signature from a generation on this site only: it masks one of the
// signature's bits, and keys with a masked bit are not found (Donnet, Baynat, Friedman 2006).
// A mask also hides other signatures, about one for each bit. It lasts until the site itself
// reports the signature, or until the generation expires. A message with a retouched body or
// text is not listed by its sketch in that generation either. Sketches themselves have no
// masked bits, because a match uses many keys. A message that is listed only as a near-duplicate
// is therefore not retouched, but revoked, which affects all sites, or put on the never-list.
//
// # Trusted sites
//
// A site that is muted, or whose trust is not TrustFull, does not affect verdicts: its parts are
// kept but not looked up, and the joined bits do not contain them. If a site's trust is lowered
// in the options, its earlier parts stay on disk until their generations expire, and count again
// if the trust is restored. Drop deletes them at once.
//
// Caps limit how much a site can make this one store: in each generation the bits or cells of
// Member.MaxReports and MaxCounts messages, by default half of a generation of reports and four
// times this site's own capacity of counts; and in memory, half of the limit for all parts
// together. A record that would exceed a cap is rejected as a whole, as are the site's further
// records of that generation.
//
// # Votes
//
// Nothing of a site with TrustVote is joined. Its votes are the Generalized Bloom filter of its
// recent reports (package vote). A message is listed if Options.Votes such sites vote for it.
// The probability that they vote for a message that was not chosen for their bits is bounded
// whatever they send: vote.Error, 4.2e-8 for two of ten sites. For a message that they know
// beforehand there is no bound. A member has the federation key, and can vote for any mail of
// which it has a copy. As many such members as votes are required can list it. Therefore votes
// can only list messages, and never hide listings: a revocation by this site or by a fully
// trusted one ends a listing by votes, whatever its generation.
//
// # Never-list
//
// Messages that an administrator declared never to be spam are stored exactly, not in a filter,
// and are looked up last. A message whose text or body is on the list, or at least half of whose
// sketch is, is listed only for an attachment of its own, or by a near match of its other words.
// Reports of it are rejected. To abuse the list, a sender must copy a message on it, write no more
// than that, and know which messages are on it: the list is not published.
//
// # Recent sightings
//
// If CountOptions.Burst is set, Explain also returns how often this site saw a message in the
// last minutes. The counts are iterative Bloom filters in a ring, in memory only. Defer uses them
// to decide whether a message that nobody reported is arriving too often now. A second ring
// records deferred messages, so that each is deferred once.
//
// # Keys
//
// A keyspace contains all data of this site under one federation key. It has a folder of its own
// and does not use other keys, because data stored under one key cannot be looked up under
// another. DB has one keyspace, or two during a key change (package keyspace).
//
// Reports, revocations, retouches, entries of the never-list, counts and mutes of this site
// change both: they are prepared in both, written in both, then shown in both (update.go). Judge
// gathers the facts of each, unites them and decides (package judging): the newest generation of
// either decides, and no site counts twice. Each keyspace is exchanged with the sites that have
// its key. The previous keyspace can be removed when its reports have expired. Only the
// never-list does not expire: entries that exist only under the previous key must be declared
// again, and Open logs their number.
//
// Locks: those of the first keyspace are taken before those of the second one. Within one
// keyspace the order is never.Changing, store.RetouchMu, SnapshotMu, the locks of peers, vote,
// outbox and journal. All others are taken last. Judge takes only the read locks of the
// never-list and of masks.
//
// # Durability
//
// A report's journal record is on disk before Report returns. Records contain absolute values,
// so replaying one twice changes nothing. Snapshots can therefore be written while the filters
// change, and kill -9 at any moment loses no acknowledged report. Counts are synced every second.
//
// # Damage and time
//
// A damaged file whose loss only costs recall is set aside, and the database opens without it
// (package repair). If own reports are damaged, Open fails. Repair restores the undamaged data,
// and Restore adds what the caller has elsewhere. The database uses a clock that does not follow
// a jump of the wall clock at once (package clock).
package bloomdb
