package bloomdb

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Options configure a database.
type Options struct {
	Dir  string   // state folder; created with mode 0700 if missing
	Site string   // this site's name: 1 to 64 characters of a-z A-Z 0-9 . _ -
	Key  [32]byte // federation key: positions are HMACs under it

	// PreviousKey is the previous federation key, during a key change: while other sites
	// still use it, and until the reports made under it have expired. nil: none. See
	// DB.Previous.
	PreviousKey *[32]byte

	Reports layout.ReportOptions
	Counts  layout.CountOptions
	Domains layout.DomainOptions

	// Votes is the number of sites with TrustVote that must vote for a message to list it:
	// 1 to 64, default 2. See vote.Error.
	Votes int

	// Exchange enables NextDelta: changes are kept until they are published.
	Exchange bool

	// SigningKey signs this site's records. nil: records prove only membership.
	SigningKey ed25519.PrivateKey
	Members    wire.Members

	mending *repair.Mending                                // set by Repair; nil: no repair
	newFile func(path string) (journal.SegmentFile, error) // creates files of the journal; nil: in the file system
	keeper  *clock.Keeper                                  // the clock; set by Open

	Log *slog.Logger     // nil: discard
	Now func() time.Time // nil: time.Now

	// Elapsed is a monotonic clock that reveals jumps of Now. nil: the system's if Now is
	// nil, too; otherwise none, and Now is always believed.
	Elapsed func() time.Duration
}

func (o *Options) complete() error {
	layout.SetDefaults(&o.Reports, &o.Counts, &o.Domains)
	o.Votes = cmp.Or(o.Votes, vote.Needed)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
		if o.Elapsed == nil {
			o.Elapsed = clock.NewElapsed(clock.SinceBoot)
		}
	}
	return o.validate()
}

func (o *Options) validate() error {
	switch {
	case o.Dir == "":
		return errors.New("no state folder given")
	case o.PreviousKey != nil && *o.PreviousKey == o.Key:
		return fmt.Errorf("the previous federation key is the key itself, %s", keyring.ID(o.Key))
	}
	if err := o.settings().Validate(); err != nil {
		return err
	}
	return o.validBurst()
}

// validBurst returns an error for an invalid burst window. 0 disables it.
func (o *Options) validBurst() error {
	switch w := o.Counts.Burst; {
	case w == 0:
		return nil
	case w < recent.Least || w > recent.Most || w > o.Counts.Period || w%time.Second != 0:
		return fmt.Errorf("burst window %s: must be 0, or whole seconds from %s to %s and at most the count period, %s",
			w, recent.Least, recent.Most, o.Counts.Period)
	}
	if err := recent.Shape(o.settings()).Valid(); err != nil {
		return fmt.Errorf("burst window %s: %w", o.Counts.Burst, err)
	}
	if size := recent.Kept * recent.Shape(o.settings()).Bytes(); size > recent.MaxBytes {
		return fmt.Errorf("burst window %s: it would take %d MiB at this count capacity and period, at most %d",
			o.Counts.Burst, size>>20, recent.MaxBytes>>20)
	}
	return nil
}

// MostMemory returns the largest memory in bytes that the filters can take with these options:
// those of this site, and with Exchange, the parts of other sites and their joined bits. During
// a change of the federation key it is twice as much.
func (o Options) MostMemory() (int64, error) {
	if err := o.complete(); err != nil {
		return 0, err
	}
	reports, counts := o.settings().FullMemory()
	most := o.fullFilters()
	if o.Counts.Burst > 0 {
		most += (recent.Steps+1)*recent.Shape(o.settings()).Bytes() + recent.GreylistShape(o.settings()).Bytes()
	}
	if o.Exchange {
		most += max(peers.MinParts, 2*(reports+counts)) + reports
	}
	if o.PreviousKey != nil {
		most *= 2
	}
	return most, nil
}

// fullFilters returns the bytes of this site's own filters and sets when they are full.
func (o *Options) fullFilters() int64 {
	reports, counts := o.settings().FullMemory()
	return reports + counts + commonness.MostMemory(o.Reports.Keep) + int64(store.DomainsShape().Lines)*64*int64(o.Reports.Keep)
}

// MostDisk returns the largest size in bytes of the database's files with these options: old and
// new snapshots while they are replaced, those of other sites' parts, and the journal, which is
// kept longer for sites that have not been sent its changes. The never-list and masks are small.
// During a change of the federation key it is twice as much.
func (o Options) MostDisk() (int64, error) {
	if err := o.complete(); err != nil {
		return 0, err
	}
	most := 2*o.fullFilters() + 2*keyspace.MaxJournal
	if o.Exchange {
		reports, counts := o.settings().FullMemory()
		most += max(peers.MinParts, 2*(reports+counts)) + outbox.MaxUnpublished
	}
	if o.PreviousKey != nil {
		most *= 2
	}
	return most, nil
}

func (o *Options) settings() *layout.Settings {
	return &layout.Settings{Dir: o.Dir, Site: o.Site, Reports: o.Reports, Counts: o.Counts, Domains: o.Domains, Votes: o.Votes, Exchange: o.Exchange, Log: o.Log, Now: o.Now}
}
