package bloomdb

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Options say where a database stands and how large its filters are.
type Options struct {
	Dir  string   // state folder; made with mode 0700 where missing
	Site string   // this site's name: 1 to 64 characters of a-z A-Z 0-9 . _ -
	Key  [32]byte // federation key: positions are HMACs under it

	// PreviousKey is the federation key that Key takes the place of, while sites roll
	// over and while reports made under it live; nil: none. See DB.Previous.
	PreviousKey *[32]byte

	Reports ReportOptions
	Counts  CountOptions
	Domains DomainOptions

	// Votes is how many sites must vote for a message to list it, of those that are
	// heard by their votes (TrustVote): 1 to 64, default 2. See VotesError.
	Votes int

	// Exchange says that changes are to be kept for NextDelta.
	Exchange bool

	// SigningKey signs this site's records; nil: they prove membership only.
	SigningKey ed25519.PrivateKey
	Members    Members

	mending *mending                               // of Repair; nil: Open
	newFile func(path string) (segmentFile, error) // of the journal; nil: of the operating system
	keeper  *timekeeper                            // of Now, from Open on

	Log *slog.Logger     // nil: discard
	Now func() time.Time // nil: time.Now

	// Elapsed is a clock that only goes forward, by which a jump of Now is seen. nil: that
	// of the system where Now is nil, too; else none, and Now is always believed.
	Elapsed func() time.Duration
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

// revokedShare is how many revocations are planned for: one in so many reports.
const revokedShare = 8

// revokedError is the chance that the revocation filters of all kept generations, this
// site's and those of all others, full to their plan, know a signature that nobody
// revoked. At 1e-10, ten million reported signatures lose 0.001 to them in expectation,
// where one plain Bloom filter of 16 bits a key would lose about 5,700.
const revokedError = 1e-10

// maxCounted is how many messages a counting filter of 8 GiB holds.
const maxCounted int64 = filter.MaxLines * 16

func (o *Options) complete() error {
	fill(&o.Reports.Period, 168*time.Hour)
	fill(&o.Reports.Keep, 5)
	fill(&o.Reports.Capacity, 1_000_000)
	fill(&o.Reports.KeysPerMessage, 8)
	fill(&o.Reports.MaxErrorPerMail, 1e-6)
	fill(&o.Counts.Period, 24*time.Hour)
	fill(&o.Counts.Keep, 2)
	fill(&o.Counts.Capacity, 20_000_000)
	fill(&o.Domains.Campaigns, defaultCampaigns)
	fill(&o.Votes, votesNeeded)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
		if o.Elapsed == nil {
			o.Elapsed = newElapsed(sinceBoot)
		}
	}
	return o.validate()
}

func fill[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (o *Options) validate() error {
	r, c := o.Reports, o.Counts
	switch {
	case o.Dir == "":
		return errors.New("no state folder given")
	case !ValidSite(o.Site):
		return fmt.Errorf("site name %q: must be 1 to 64 characters of a-z A-Z 0-9 . _ -", o.Site)
	case o.PreviousKey != nil && *o.PreviousKey == o.Key:
		return fmt.Errorf("the previous federation key is the key itself, %s", KeyID(o.Key))
	case r.Period < time.Second || r.Period%time.Second != 0:
		return fmt.Errorf("report period %s: must be whole seconds", r.Period)
	case c.Period < time.Second || c.Period%time.Second != 0:
		return fmt.Errorf("count period %s: must be whole seconds", c.Period)
	case r.Keep < 1 || r.Keep > 64 || c.Keep < 1 || c.Keep > 64:
		return fmt.Errorf("generations kept: %d of reports, %d of counts; must be 1 to 64", r.Keep, c.Keep)
	case r.Capacity < 1 || c.Capacity < 1:
		return fmt.Errorf("capacity: %d reports, %d counts; must be at least 1", r.Capacity, c.Capacity)
	case r.KeysPerMessage < 1 || r.KeysPerMessage > 256:
		return fmt.Errorf("keys per message %d: must be 1 to 256", r.KeysPerMessage)
	case r.MaxErrorPerMail < 1e-12 || r.MaxErrorPerMail > 0.5:
		return fmt.Errorf("error per mail %g: must be 1e-12 to 0.5", r.MaxErrorPerMail)
	case max(o.settings().spamShape().Lines, o.settings().classShape().Lines, o.settings().sketchShape().Lines) == filter.MaxLines || r.Capacity > 1<<40:
		return fmt.Errorf("report capacity %d: a generation would be larger than 8 GiB", r.Capacity)
	case o.Votes < 1 || o.Votes > 64:
		return fmt.Errorf("votes needed: %d; must be 1 to 64", o.Votes)
	case c.Capacity > maxCounted:
		return fmt.Errorf("count capacity %d: must be at most %d", c.Capacity, maxCounted)
	}
	return errors.Join(o.validBurst(), o.validDomains())
}

// ValidSite says whether a site may have this name: 1 to 64 characters of a-z
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

// unevenness is how much more than its share of the capacity a generation
// holds, at the same error: periods differ.
const unevenness = 1.25

// messagesPerGeneration is how many reported messages one generation holds.
func (o *settings) messagesPerGeneration() float64 {
	return unevenness * float64(o.Reports.Capacity) / float64(o.Reports.Keep)
}

// keysPerGeneration is what one generation holds.
func (o *settings) keysPerGeneration() float64 {
	return unevenness * float64(o.Reports.Capacity) * float64(o.Reports.KeysPerMessage) / float64(o.Reports.Keep)
}

// lookupError is what one lookup in one filter may err, so that all lookups of
// a mail together stay below the target: its signatures, in every generation,
// in the own filter and in that of the others.
func (o *settings) lookupError() float64 {
	lookups := float64(o.Reports.KeysPerMessage) * float64(o.Reports.Keep) * 2
	return o.Reports.MaxErrorPerMail / lookups
}

// spamShape has a key's eight bits in one line: 114 bits of memory a key where two
// lines take 82, for deltas of 60 bits a new signature where those have 76, and for one
// cache miss, not two.
func (o *settings) spamShape() filter.BitsShape {
	return filter.BitsShape{K: 8, Span: 1}.Fit(o.keysPerGeneration(), o.lookupError())
}

func (o *settings) revokedShape() filter.BitsShape {
	return filter.SizeBits(o.keysPerGeneration()/revokedShare, revokedError/float64(o.Reports.Keep*2), 16)
}

// classShape holds every signature that is planned for under one class. Four bits
// a pair, in one line, take 22 bits of memory a pair where eight in two take 15;
// but deltas and parts have half as many ones, and a part is asked in one block.
func (o *settings) classShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.keysPerGeneration(), classError)
}

// sketchEntriesPerGeneration is what the sketch filter of one generation holds: the
// groups of its reports and of their revocations.
func (o *settings) sketchEntriesPerGeneration() float64 {
	return unevenness * float64(o.Reports.Capacity) * plannedEntries / float64(o.Reports.Keep)
}

func (o *settings) sketchShape() filter.BitsShape {
	return filter.BitsShape{K: 4, Span: 1}.Fit(o.sketchEntriesPerGeneration(), sketchKeyError)
}

func (o *settings) countsShape() filter.CountsShape {
	return filter.SizeCounts(float64(o.Counts.Capacity))
}
