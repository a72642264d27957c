package layout

import (
	"cmp"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// DomainOptions configure link domains. Sites may differ.
type DomainOptions struct {
	// Campaigns is the number of reported campaigns from which a domain lists messages, if it
	// hardly occurs in other mail; default 3. Below 0, domains are neither counted nor used.
	Campaigns int
	// NeverAlone are registrable domains that are ignored, in addition to signature.WellKnown.
	NeverAlone []string
}

// JudgedDomains returns those of a message's domains that may count against it.
func (o *Settings) JudgedDomains(domains []string) []string {
	var list []string
	for _, d := range domains[:min(len(domains), MaxSetDomains)] {
		if !signature.WellKnown(d) && !slices.Contains(o.Domains.NeverAlone, d) {
			list = append(list, d)
		}
	}
	return list
}

// ReportOptions size the filters of reports. They must be equal at all sites of a
// federation, unless a field states otherwise.
type ReportOptions struct {
	Period          time.Duration // length of a generation, UTC-aligned, whole seconds; default 168h
	Keep            int           // generations kept, the current one included, 1 to 64; default 5
	Capacity        int64         // reported messages over all kept generations and sites; default 1,000,000
	KeysPerMessage  int           // signatures a message has at most, 1 to 256; default 8
	MaxErrorPerMail float64       // chance that a message nobody reported is listed; default 1e-6

	// Classes enables the classes of reports, this site's and those received from others.
	// Sites may differ. When it is switched off, the next snapshot removes the class
	// filters. When it is switched on, classes are recorded for later reports, and for
	// those that are still in the journal.
	Classes bool

	// NoSketches disables near-duplicates, this site's and those received from others.
	// Sites may differ. When it is set, the next snapshot removes the sketch filters.
	NoSketches bool
	// NoShapes disables the sketches of pages, when mail is judged and when it is reported.
	// Sites may differ.
	NoShapes bool
	// NoCommonness disables what is learned from unreported mail (package commonness). Sites may
	// differ. When it is set, the next snapshot removes the sets.
	NoCommonness bool
}

// CountOptions size this site's counting filters. Sites may differ.
type CountOptions struct {
	Period   time.Duration // length of a generation; default 24h
	Keep     int           // generations kept, 1 to 64; default 2
	Capacity int64         // distinct messages in one period; default 20,000,000

	// Burst is the window of the burst counter, which counts how often this site saw a
	// message in the last minutes: 1m to 1h, at most Period, in whole seconds. Default 0:
	// disabled, and Defer defers nothing. The counter is sized for eight times the mean
	// rate of Capacity and takes six filters: 2 MiB for 10m, 24h and 20,000,000.
	Burst time.Duration
}

// defaultCampaigns is the default of DomainOptions.Campaigns.
const defaultCampaigns = 3

// SetDefaults replaces zero values by their defaults.
func SetDefaults(r *ReportOptions, c *CountOptions, d *DomainOptions) {
	r.Period = cmp.Or(r.Period, 168*time.Hour)
	r.Keep = cmp.Or(r.Keep, 5)
	r.Capacity = cmp.Or(r.Capacity, 1_000_000)
	r.KeysPerMessage = cmp.Or(r.KeysPerMessage, 8)
	r.MaxErrorPerMail = cmp.Or(r.MaxErrorPerMail, 1e-6)
	c.Period = cmp.Or(c.Period, 24*time.Hour)
	c.Keep = cmp.Or(c.Keep, 2)
	c.Capacity = cmp.Or(c.Capacity, 20_000_000)
	d.Campaigns = cmp.Or(d.Campaigns, defaultCampaigns)
}

// RevokedShare is the number of reports for each revocation that is planned for.
const RevokedShare = 8

// revokedError is the chance that a signature nobody revoked is found in any revocation
// filter of the kept generations, of this site or others, when all are full. At 1e-10, ten
// million reported signatures lose an expected 0.001 to it. A plain Bloom filter of 16 bits
// a key would lose about 5,700.
const revokedError = 1e-10

// MaxCounted is the number of messages that a counting filter of 8 GiB has room for.
const MaxCounted int64 = filter.MaxLines * 16

// ValidSite reports whether name is a valid site name: 1 to 64 characters of a-z A-Z 0-9
// . _ -, not beginning with a dot.
func ValidSite(name string) bool {
	if len(name) < 1 || len(name) > 64 || name[0] == '.' {
		return false
	}
	for _, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return false
		}
	}
	return true
}

// Unevenness is the factor by which a generation has more room than its equal share of the
// capacity, since periods differ in the number of reports.
const Unevenness = 1.25

// MessagesPerGeneration returns the number of reported messages that one generation has room for.
func (o *Settings) MessagesPerGeneration() float64 {
	return Unevenness * float64(o.Reports.Capacity) / float64(o.Reports.Keep)
}

// plannedSignatures is the number of signatures of a reported message that the filters have room
// for, unless KeysPerMessage is less. The spam of four archives has 2.0 on average, at most 4.
const plannedSignatures = 4

// KeysPerGeneration returns the number of signatures that one generation has room for.
func (o *Settings) KeysPerGeneration() float64 {
	return o.MessagesPerGeneration() * float64(min(o.Reports.KeysPerMessage, plannedSignatures))
}

// lookupError returns the largest error of one lookup by which all lookups of a message
// together stay below MaxErrorPerMail. A message looks up each signature in every
// generation, in the own filter and in the joined one of other sites.
func (o *Settings) lookupError() float64 {
	lookups := float64(o.Reports.KeysPerMessage) * float64(o.Reports.Keep) * 2
	return o.Reports.MaxErrorPerMail / lookups
}

// SpamShape returns the shape of a spam filter. A key's eight bits are in one line. This
// takes 114 bits of memory a key, where two lines take 82. In return, a delta takes 60 bits
// a new signature and not 76, and a lookup has one cache miss and not two.
func (o *Settings) SpamShape() filter.BitsShape {
	return filter.BitsShape{K: 8, Span: 1}.Fit(o.KeysPerGeneration(), o.lookupError())
}

func (o *Settings) RevokedShape() filter.BitsShape {
	return filter.SizeBits(o.KeysPerGeneration()/RevokedShare, revokedError/float64(o.Reports.Keep*2), 16)
}

// ClassShape returns the shape of a class filter, with room for every planned signature
// under one class. Four bits a pair in one line take 22 bits of memory, where eight bits in
// two lines take 15. In return, deltas and parts have half as many ones, and a lookup in a
// part decodes one block.
func (o *Settings) ClassShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.KeysPerGeneration(), ClassError)
}

// SketchEntriesPerGeneration returns the number of entries that the sketch filter of one
// generation has room for: those of reports and of revocations.
func (o *Settings) SketchEntriesPerGeneration() float64 {
	return o.MessagesPerGeneration() * plannedEntries
}

func (o *Settings) SketchShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.SketchEntriesPerGeneration(), sketchKeyError)
}

func (o *Settings) CountsShape() filter.CountsShape {
	return filter.SizeCounts(float64(o.Counts.Capacity))
}

// How sketches are stored. A generation has one pooled filter. For each reported group
// (signature.Group) it contains the group's anchor, and a pair of the anchor with each of
// the group's keys. A message looks up all its anchors, and the pairs of those that are
// found. A match is one group of which one site has stored the anchor and Need pairs. A
// pair belongs to one anchor, so keys of different reports never add up, although the
// filter does not record which key came from which report. Revoked groups are in the same
// filter. Their positions are derived from keys of their own and are independent of those
// of reported groups.
//
// # Error
//
// An entry sets four bits in one line, at p = 3 % in a full generation. The sketches of a reported
// message take 151 bytes, including the extra quarter of a generation's room and its revocations.
// They are planned with plannedEntries. A text has three groups of 20 keys, 72 entries with the
// anchors, and a page up to 64 more. The spam of four archives has 97 to 127 on average. Eight bits would have a larger error at this size and would
// double the ones in deltas and parts. Two lines would give 2.9 % and twice the cache misses
// for keys that are present. At the capacity, evenly over the generations, p is 1.5 %; with
// an eighth of it revoked, 2.2 %.
//
// An anchor is stored four times, 16 bits in all, because it decides whether keys are looked
// up. A message that nobody reported has A groups of n keys, t of them needed. In G
// generations, own and others', it is listed with a chance of
//
//	A * 2G * p^4 * P(Binomial(n, p) >= t)
//
// For 300 groups of 50 keys, 8 needed, in five generations, that is 9e-9 at the capacity with
// an eighth of it revoked. With all ten filters full, at two and a half times the capacity,
// it is 3e-7. Anchors stored once would give 1e-3 and 1e-2: keys have few bits each, since
// there are many.
const (
	AnchorCopies   = 4
	plannedEntries = 128  // entries of one report
	sketchKeyError = 0.03 // chance that a full filter contains an absent entry
)

// Unwanted reports whether the options disable a kind: classes, sketches or counts of
// domains. Filters of that kind in the folder are then removed.
func (o *Settings) Unwanted(kind Kind) bool {
	return kind == ClassFilter && !o.Reports.Classes || kind == SketchFilter && o.Reports.NoSketches ||
		kind == DomainFilter && o.Domains.Campaigns < 0
}
