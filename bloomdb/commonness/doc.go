// Package commonness records which features of mail are common at this site: those that it sees
// again and again in mail that nobody reports. They are no evidence. A report does not store them,
// and no match counts them.
//
//	Learn     unreported mail: its features, its sender, the day
//	Reported  a report: what it contains is taken back
//	IsCommon  sketches and link domains: is a feature common?
//	Knows     a sender: is near mail of this domain spared?
//
// A feature is a keyed number: a key of a sketch, the structure of a page, an image, a link domain.
// It is common if at least Enough senders sent it on at least Enough days, after one of each for
// each day on which it was reported. A sender is a registrable domain that the site's own verifier
// proved. So nothing that one sender does makes a feature common, nor what ten thousand do in two
// days (TestFloodBuysDays). Mail without a proof is not learned: hosts cost a spammer less than
// domains, and where few users report, a campaign lasts longer than three days (contrib/benchmarks.md).
//
// The package owns the sets, their expiry, their memory and their files (FORMAT.md). It does not
// choose features, which package sketch does. Nothing of it is exchanged: a lying member has no
// part in it. Looking a feature up takes no lock. Changes take the table's, under which only that of
// the clock is taken.
//
// # Sets
//
// A set is a Bloom filter of entries, one for each period of reports, and expires with them. It
// does not count: the entries of a feature are the pairs of the feature with one of 64 numbers of
// a sender, one of 32 days, and one of 16 days of reports. The number of entries found is the
// number of different senders or days. A counter would need these pairs beside it, to distinguish a
// new sender from the same one. Two senders share a number in one of 64 cases, and then count as one.
//
// A set has up to three layers (Almeida et al., "Scalable Bloom Filters", 2007): filters for
// 100,000, 900,000 and 7,000,000 entries, of 0.2, 1.6 and 12.8 MB. The next one is made when the
// one before it is full. So a site with little mail takes little memory, and writes little.
//
// An absent entry is found with 0.15 % in each full layer. A feature that the site never saw is
// common by chance if three of 64 senders and three of 32 days are found: 2e-6 if one set is full,
// 0.6 % if five are. The error costs recall, never a false positive.
//
// # Bounds
//
// A set has room for 8,000,000 entries, of which an eighth is kept for reports: when the rest is
// full, nothing is learned until the next period, and reports still take back what is common. One
// sender fills at most 1/64 of it on one day. Learning a message of 128 keys takes 257 entries;
// looking one feature up takes up to 112 in each set. It happens only for a match and for a report,
// not for other mail.
//
// Processor time on a Xeon of 2 shared cores: 61 microseconds to learn a message of 128 new keys, 1.2 to
// look up a feature that is not there, 1.9 for one that is common (bench of this package; user and
// system time over the number of calls, since the machine was loaded).
package commonness
