// Package bloomdb is the database of one site: which signatures were reported as spam,
// which listings were revoked, how often each message was seen, here and on every other
// site of the federation. It owns the state folder and its formats (FORMAT.md), the
// generations and their expiry, and the records of the exchange. It does no network I/O:
// package exchange carries the records.
//
// DB unites what one or two keyspaces know. Everything below it is in packages of its own,
// here in the order of their imports:
//
//	filter    the filters as data structures
//	layout    kinds, generations, shapes, classes, sizes
//	folder    files of the state folder, and its identity
//	keyring   keys, and hashes under them
//	clock     the time, without the jumps of the wall clock
//	journal   the log of this site's own changes
//	wire      records that go through Redis
//	store     own filters, other sites' parts, masks, snapshots
//	never     messages that are declared never to be spam
//	recent    what was seen in the last minutes and hours
//	sketch    near-duplicates
//	vote      votes of this site and of others
//	outbox    what other sites have not been sent
//	peers     what other sites have sent
//	repair    damaged files
//	keyspace  all of it under one federation key
//	judging   what a message is, by one keyspace or two
//
// The life of a report:
//
//	DB.Report              never      is it declared never to be spam?
//	  isCampaign           bloomdb    DB.Judge: is it the first report of its kind?
//	  update               bloomdb    for each keyspace: prepare, write, show
//	    PrepareReport      keyspace
//	      Ring.ReportHash  keyring    positions of its signatures and domains
//	      Index.Asked      sketch     entries of its near-duplicates
//	      VoteRecord       vote       what it does to this site's votes
//	      Unmask           store      retouches that would hide it
//	    Append, Sync       journal    the records are on disk
//	    Set, ApplyVotes    store      the bits are set; now it is listed
//	      Note             outbox     and waits to be published
//
// The life of a mail:
//
//	DB.Judge               judging    Judge, with what the options say
//	  ask                  keyring    positions under each key
//	  gather               store      which spam filter may have one? For most mail, that is all
//	    overlaps           sketch     near-duplicates
//	    votes              vote       sites that vote for it
//	    Counted            store      how often each site saw it
//	    Covers             never      what of it is declared
//	  unite                judging    the facts of two keyspaces
//	  decide               judging    the newest of listing and revocation; the never-list last
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
//	  stateOf              peers      muted, stale, a gap?
//	  acceptable           peers      same parameters, within the site's caps
//	  PartFor, Merge       store      the origin's part, and the bits joined of all
//	Published              outbox     the journal may be dropped up to here
//
// # State
//
// Three kinds of filter stand in generations, one for each UTC-aligned period:
// the spam filter and the revocation filter (Yan & Cho 2006, section 4), and the
// refined counting filter (section 3). Where classes are kept, a fourth one holds
// the classes of reports (type Class); where sketches are, a fifth one holds what
// near-duplicates are told by (package sketch). Of each the site has its own, which only
// it changes. Another site's filters are kept apart as compressed parts, so that
// its influence can be told and taken away; for speed the bits of all other
// sites are also joined in one filter by OR. Counts are never joined: a count is
// the sum over sites of the least cell. Heuristic H1 works on the site's own
// state only: on merged state it would count too low.
//
// # Judging
//
// The newest word about a signature decides. It is listed if that is a report. The newest
// generation with a report or a revocation has it. Within a generation, reports and revocations
// are the rungs of a ladder (layout.Rungs): report, revocation, report, and so on, 16 at most,
// each in the spam filter, the revocation filter, or the ladder filter. The highest rung decides.
// A message that changes sides more often stays revoked until the next period. Generations that
// expire are dropped whole, which bounds the life of a wrong listing. A listing that stands is
// asked for its class, which names it and decides nothing.
//
// A message without a listed signature may be a near-duplicate of a reported one: a
// sketch of it matches where one site has stored enough of it in one generation
// (signature.Sketch). The same rules hold between report and revocation, and a
// revoked message takes the listing of all its near-duplicates by their sketches
// back. Two things it does not: a message that was reported itself stays listed by
// its own signatures; and one that was revoked itself, by its body or text, is not
// listed by a sketch of the same generation or an older one. A spammer who encloses
// the text of a revoked message thereby escapes the sketch, as he would with a text
// of his own; that nobody's mail is listed for its likeness to a revoked one weighs
// more.
//
// Retouch takes a signature out of a generation here and nowhere else: one of its
// bits is masked, and what has a masked bit is not found (Donnet, Baynat, Friedman
// 2006). The mask costs other signatures their listing, about one for each bit. It
// stands until the site reports the signature itself, or its generation expires.
// A message whose body or text is retouched in a generation is not listed by its
// sketch there either. The sketch itself has no masked bits: what matches by one has
// many keys in the filter. A message that is listed by its likeness alone is therefore
// not retouched, but revoked, which all sites hear, or declared never spam.
//
// # Sites that have a say
//
// A site that is muted, or whose trust is not TrustFull, has no say: its parts are held
// and asked by nobody, and the joined bits are made without it. Where a site's trust is
// taken away in the options, what was heard of it before stays on disk that way until
// its generations expire, and comes back with the trust. Drop deletes it at once.
//
// What a site may make us hold is capped: in each generation the bits or cells of
// Member.MaxReports and MaxCounts messages, by default half of a generation of reports
// and four times this site's own capacity of counts; and in memory half of what all
// parts together may take. A record that would go over a cap is refused whole, and the
// site's further records of that generation with it.
//
// # Votes
//
// Of a site that is trusted by half (TrustVote) nothing is joined. It is heard through
// the Generalized Bloom filter of its recent reports (package vote): a message is listed
// when Options.Votes such sites vote for it. The chance that they do for one that was
// not chosen for their bits is bounded whatever they send: vote.Error, 4.2e-8 for two of
// ten. What they hold against it beforehand is not bounded. A member with the federation
// key can vote for any mail it has a copy of, and as many of them as votes are needed
// can list it. So they only list, and never hide: a revocation here or at a site that is
// heard in full takes such a listing back, in whichever generation it stands.
//
// # Never
//
// What an administrator declared never to be spam is kept exactly, in no filter,
// and is asked last: a message whose text or body is declared, or of whose sketch
// at least half is, is listed only for an attachment of its own. Reports of it are
// refused. Who copies a declared message to hide in it must write no more than he
// copies, and must know what was declared: the list is told to nobody.
//
// # Lately
//
// Explain also says how often this site saw a message in the last minutes, where
// CountOptions.Burst says so: iterative Bloom filters in a ring, in memory only.
// Defer asks it whether a message nobody reported comes too often right now, and
// remembers in a second such ring that the message was put off, so that it is once.
//
// # Keys
//
// A keyspace is everything that this site holds under one federation key: it has a folder
// of its own and knows of no other key, since nothing held under one key can be looked up
// under another. DB holds one of them, and two while the key is rolled over (package keyspace).
//
// What is reported, revoked, retouched, declared, counted and muted here changes both:
// prepared in both, written in both, then shown in both (update.go). Judge gathers the facts
// of each, unites them and decides (package judging): the newest generation wins across them, and
// no site counts twice. Each is exchanged with the sites that have its key. The previous
// keyspace can be removed when what was reported before has expired. Only the never-list
// does not expire: what is declared under the previous key only must be declared again, and
// Open logs how many messages that are.
//
// Locks: those of the first keyspace are taken before those of the second one. Within one
// the order is never.Changing, store.RetouchMu, SnapshotMu, the locks of peers, vote, outbox and
// journal. All others are taken last. Judge takes
// only the read locks of the never-list and of masks.
//
// # Durability
//
// A report's journal record is on disk before Report returns. Records tell
// absolute values, so that replaying one twice changes nothing; snapshots can
// therefore be written while the filters change, and kill -9 at any moment
// loses no acknowledged report. Counts are synced every second.
//
// # Damage and time
//
// A damaged file whose loss costs recall only is set aside, and the database opens
// without it (package repair). Damage to own reports is refused; Repair restores what is
// whole, and Restore what the caller holds elsewhere. The database goes by a time that a
// jump of the wall clock does not move at once (package clock).
package bloomdb
