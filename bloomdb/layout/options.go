package layout

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// DomainOptions set how link domains are used. Sites may differ.
type DomainOptions struct {
	// Campaigns is the least number of reported campaigns by which a domain that hardly
	// occurs in other mail lists messages; default 3. Below 0: none, and nothing is counted.
	Campaigns int
	// NeverAlone are registrable domains that are not used, beside those of
	// signature.WellKnown.
	NeverAlone []string
}

// JudgedDomains returns the domains of a message that can count against it.
func (o *Settings) JudgedDomains(domains []string) []string {
	var list []string
	for _, d := range domains[:min(len(domains), MaxSetDomains)] {
		if !signature.WellKnown(d) && !slices.Contains(o.Domains.NeverAlone, d) {
			list = append(list, d)
		}
	}
	return list
}

// ReportOptions size the spam and revocation filters. All sites of a federation
// must have the same.
type ReportOptions struct {
	Period          time.Duration // length of a generation, UTC-aligned, whole seconds; default 168h
	Keep            int           // generations kept, the current one included, 1 to 64; default 5
	Capacity        int64         // reported messages over all kept generations and sites; default 1,000,000
	KeysPerMessage  int           // signatures a message has at most, 1 to 256; default 8
	MaxErrorPerMail float64       // chance that a message nobody reported is listed; default 1e-6

	// Classes says to keep the classes of reports, and to hear those of other
	// sites; sites may differ. Where it is switched off, the class filters are
	// forgotten with the next snapshot. Switched on, classes are known of reports
	// that come from then on, and of those that the journal still has.
	Classes bool

	// NoSketches says to keep no near-duplicates, and not to hear those of other
	// sites; sites may differ. Where they are switched off, the sketch filters are
	// forgotten with the next snapshot.
	NoSketches bool
}

// CountOptions size this site's own counting filter. Sites may differ.
type CountOptions struct {
	Period   time.Duration // length of a generation; default 24h
	Keep     int           // generations kept, 1 to 64; default 2
	Capacity int64         // distinct messages in one period; default 20,000,000

	// Burst is the window of the burst counter, which says how often a message was
	// seen here in the last minutes: 1m to 1h and at most Period, in whole seconds.
	// Default 0: none. It takes six times the memory for eight times the mean rate
	// of Capacity: 2 MiB for 10m, 24h and 20,000,000. Without it, Defer defers nothing.
	Burst time.Duration
}

// RevokedShare is how many revocations are planned for: one in so many reports.
const RevokedShare = 8

// revokedError is the chance that the revocation filters of all kept generations, this
// site's and those of all others, full to their plan, know a signature that nobody
// revoked. At 1e-10, ten million reported signatures lose 0.001 to them in expectation,
// where one plain Bloom filter of 16 bits a key would lose about 5,700.
const revokedError = 1e-10

// MaxCounted is how many messages a counting filter of 8 GiB holds.
const MaxCounted int64 = filter.MaxLines * 16

// ValidSite reports whether a site may have this name: 1 to 64 characters of a-z
// A-Z 0-9 . _ -, no dot first.
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

// Unevenness is how much more than its share of the capacity a generation
// holds, at the same error: periods differ.
const Unevenness = 1.25

// MessagesPerGeneration is how many reported messages one generation holds.
func (o *Settings) MessagesPerGeneration() float64 {
	return Unevenness * float64(o.Reports.Capacity) / float64(o.Reports.Keep)
}

// KeysPerGeneration is what one generation holds.
func (o *Settings) KeysPerGeneration() float64 {
	return Unevenness * float64(o.Reports.Capacity) * float64(o.Reports.KeysPerMessage) / float64(o.Reports.Keep)
}

// lookupError is what one lookup in one filter may err, so that all lookups of
// a mail together stay below the target: its signatures, in every generation,
// in the own filter and in that of the others.
func (o *Settings) lookupError() float64 {
	lookups := float64(o.Reports.KeysPerMessage) * float64(o.Reports.Keep) * 2
	return o.Reports.MaxErrorPerMail / lookups
}

// SpamShape has a key's eight bits in one line: 114 bits of memory a key where two
// lines take 82, for deltas of 60 bits a new signature where those have 76, and for one
// cache miss, not two.
func (o *Settings) SpamShape() filter.BitsShape {
	return filter.BitsShape{K: 8, Span: 1}.Fit(o.KeysPerGeneration(), o.lookupError())
}

func (o *Settings) RevokedShape() filter.BitsShape {
	return filter.SizeBits(o.KeysPerGeneration()/RevokedShare, revokedError/float64(o.Reports.Keep*2), 16)
}

// ClassShape holds every signature that is planned for under one class. Four bits
// a pair, in one line, take 22 bits of memory a pair where eight in two take 15;
// but deltas and parts have half as many ones, and a part is asked in one block.
func (o *Settings) ClassShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.KeysPerGeneration(), ClassError)
}

// SketchEntriesPerGeneration is what the sketch filter of one generation holds: the
// groups of its reports and of their revocations.
func (o *Settings) SketchEntriesPerGeneration() float64 {
	return Unevenness * float64(o.Reports.Capacity) * PlannedEntries / float64(o.Reports.Keep)
}

func (o *Settings) SketchShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.SketchEntriesPerGeneration(), sketchKeyError)
}

func (o *Settings) CountsShape() filter.CountsShape {
	return filter.SizeCounts(float64(o.Counts.Capacity))
}

// How sketches are kept. A generation has one pooled filter, in which stand, for
// each group that was reported (signature.Group), its anchor and the pairs of the
// anchor with each of its keys. A message is asked for every anchor it has, and for
// the pairs of those that are found: a match is one group of which one site has
// stored the anchor and Need pairs. A pair belongs to one anchor, so that keys of
// different reports never add up, though the filter forgets which key came from
// which report. Revoked groups stand in the same filter: their positions come from
// keys of their own, and are independent of those of the reported ones.
//
// # Error
//
// Four bits an entry in one line, at p = 3 % where a generation is full: 85 bytes a
// reported message of three groups of 20 keys, the quarter more that a generation
// holds and its revocations within. Eight bits would err more there, and cost deltas
// and parts twice as many ones; two lines, for 2.9 %, twice the cache misses where
// keys are there. At the capacity, evenly over the generations, p is 1.5 %, and 2.2 %
// with an eighth of it revoked.
//
// An anchor is stored four times, 16 bits: it decides whether keys are asked for at
// all. A message that nobody reported is listed, for A groups of n keys of which t are
// needed, in G generations, own and others', with a chance of
//
//	A * 2G * p^4 * P(Binomial(n, p) >= t)
//
// For 300 groups of 50 keys, 8 needed, in five generations that is 9e-9 at the capacity
// with an eighth of it revoked, and 3e-7 where all ten filters are full, which is two
// and a half times the capacity. With anchors stored once it would be 1e-3 and 1e-2:
// keys have to be of few bits, since they have to be many.
const (
	AnchorCopies   = 4
	plannedGroups  = 3
	plannedKeys    = 20
	PlannedEntries = plannedGroups * (AnchorCopies + plannedKeys) // of one report
	sketchKeyError = 0.03                                         // of a full generation
)

// Unwanted reports whether what the folder holds of a kind is forgotten: classes, sketches
// and counts of domains, where they are off now.
func (o *Settings) Unwanted(kind Kind) bool {
	return kind == ClassFilter && !o.Reports.Classes || kind == SketchFilter && o.Reports.NoSketches ||
		kind == DomainFilter && o.Domains.Campaigns < 0
}
