// Package commonness records which features of mail are common at this site: those that it sees
// again and again in mail that nobody reports. They are no evidence. A report does not store them,
// and no match counts them.
//
//	Learn     unreported mail: its features, its sender, the day
//	Reported  a report: what it shares with learned mail is taken back
//	IsCommon  sketches and link domains: is a feature common?
//	Knows     a sender: is near mail of this domain spared?
//	IsNew     this site: can anything be common yet?
//
// A feature is a keyed number: a key of a sketch, the structure of a page, an image, a link domain.
// A sender is a registrable domain that the site's own verifier proved. A feature is common if
//
//   - unreported mail had it on at least Enough days, one of them two weeks ago or earlier, and
//   - at least Enough old senders sent it: those of which the site had other mail three calendar weeks
//     earlier (15 to 21 days).
//
// Each day on which it was reported asks for one more such sender, and for two more days. So nothing is
// common at a new site, unless an administrator feeds it an archive of wanted mail.
//
// # New sites
//
// A site is new while not even the feature of all mail is common. Then the absence of commonness says
// nothing. So a near match lists mail of a proven From domain, of which no mail was reported here, only
// with nearly all of what was reported (package sketch, NearlyAll); weak matches beside a link domain do
// not list it. Mail that is spared is learned like other mail. Bayesian filters do the same with words
// that they have hardly seen: Graham's ignores them ("A Plan for Spam", 2002), and Robinson's draws them
// towards a prior ("A Statistical Approach to the Spam Problem", 2003).
//
// Exact matches list as ever, and so do all matches for mail without a proof: a site without a verifier
// stays new, and would otherwise miss spam for ever (contrib/benchmarks.md).
//
// # Campaigns
//
// A campaign that nobody has reported yet must not become common by its mere size. Its mail cannot be
// told from what a mailing service sends for its customers: both are alike, and of many domains. Neither
// is their text a difference, because the confirmations of a service are alike, too. What differs is
// time. Domains cost a spammer little, days without a report cost him much. So within two weeks no
// number of domains makes anything common, and domains that are used for a few days never do
// (TestFloodBuysDays). A spammer may prepare with harmless mail: then he needs domains that this site
// has known for more than two weeks, another one for each day of reports, and two days of sightings
// for it (TestPoisoningBuysADayForTwo). A campaign that goes on beside its reports loses, since a day
// of reports asks for two days and brings one.
//
// Mail without a proof is not learned: hosts cost a spammer less than domains, and where few users
// report, a campaign lasts longer (contrib/benchmarks.md).
//
// A site that keeps reports for less than three weeks knows no old sender, and learns nothing common.
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
// an old sender, one of 32 days, and one of 16 days of reports. The number of entries found is the
// number of different senders or days. A counter would need these pairs beside it, to distinguish a
// new sender from the same one. Two senders share a number in one of 64 cases, and then count as one.
// A sender has entries for 32 days and, three for each, for 8 weeks: so no new sender is old by chance
// (1e-5 in each week if five sets are full).
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
// A set has room for 8,000,000 entries, of which an eighth is kept for reports of what is common: when the
// rest is full, nothing else is recorded until the next period. One sender fills at most 1/64 of a set on one
// day. For ten minutes at the begin of a period, the expired set is kept as well. Then the new one has room for
// 1,000,000, of which an eighth is kept as well. A full set takes nothing more: otherwise every feature would seem
// reported, and none common.
//
// A reporter can invent any number of features. So a report takes room only for those that learned mail had
// before it, and reports of one day fill at most 1/16 of a set, half of one in a week. Beyond that they take
// back what is common only. So a report does not count for a feature that mail has for the first time later, or
// that was learned under an earlier federation key: then a feature may become common with one sender and two days
// fewer. A report of the feature on a later day counts. Of invented features 13 % seem learned if one set is full,
// half if five are.
//
// Learning a message of 128 keys takes 260 entries, 132 of a sender that is not old; looking one feature up takes
// up to 112 in each set. It happens only for a match and for a report, not for other mail.
//
// Processor time on an EPYC of 2 shared cores: 36 microseconds to learn a message of 128 new keys, 0.3 to
// look up a feature that is not there, 1.3 for one that is common (bench of this package; user and
// system time over the number of calls, since the machine was loaded). Before features had an age, it
// was 40, 0.8 and 1.2.
package commonness
