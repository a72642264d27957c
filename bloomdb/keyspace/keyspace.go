package keyspace

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Keyspace holds everything of this site under one federation key: the filters, and with them
// files, journal, never-list, votes and the state of the exchange. No method uses another
// keyspace.
type Keyspace struct {
	Settings *layout.Settings
	Ring     *keyring.Ring
	Sealer   *wire.Sealer
	Store    *store.Store
	Sketches *sketch.Index
	Common   *commonness.Table
	Never    *never.List
	Votes    *vote.Register
	Journal  *journal.Log
	Outbox   *outbox.Outbox
	Peers    *peers.Peers
	Files    *repair.Files
	Keeper   *clock.Keeper
	newFile  func(path string) (journal.SegmentFile, error) // see Config
	relists  bool                                           // see Config.Relist
	Closed   atomic.Bool

	SnapshotMu sync.Mutex // one snapshot at a time; guards Files.Saved
	lastSave   time.Time  // last successful Save, or the start
	triedSave  time.Time
	saveFault  error // of the last Save
	// journalBase is the size of the journal after the last snapshot.
	journalBase atomic.Int64
}

// Config configures a keyspace.
type Config struct {
	Settings   *layout.Settings
	Key        [32]byte
	Members    wire.Members
	SigningKey ed25519.PrivateKey // nil: records prove membership only
	Keeper     *clock.Keeper
	Mending    *repair.Mending                                // nil: no repair
	Relist     bool                                           // reports made before a new folder are in the ledger, see Relist
	NewFile    func(path string) (journal.SegmentFile, error) // creates files of the journal; nil: in the file system
}

// New returns an empty keyspace.
func New(o Config) *Keyspace {
	opt, r := o.Settings, keyring.NewRing(o.Key)
	ks := &Keyspace{Settings: opt, Ring: r, Store: store.New(opt, r, o.Members), Keeper: o.Keeper, newFile: o.NewFile, relists: o.Relist, lastSave: opt.Now()}
	ks.Sealer = &wire.Sealer{Opt: opt, Ring: r, Members: o.Members, SigningKey: o.SigningKey, Witness: ks.witness}
	ks.Sketches = sketch.New(ks.Store)
	ks.Common = commonness.New(opt, r)
	ks.Sketches.Common = ks.Common
	ks.Outbox = &outbox.Outbox{Opt: opt, Sealer: ks.Sealer, Store: ks.Store}
	ks.Peers = peers.New(ks.Sealer, ks.Store, ks.Outbox)
	ks.Votes = vote.New(ks.Sealer, ks.Store)
	ks.Files = &repair.Files{Opt: opt, Mending: o.Mending, Saved: make(map[string]folder.Saved)}
	ks.Never = never.New(keyring.NewSip(r.Keyed.Sum(keyring.PurposeNever)))
	return ks
}

// Close writes a snapshot. It returns ErrClosed if the keyspace is closed already.
func (ks *Keyspace) Close() error {
	if ks.Closed.Swap(true) {
		return layout.ErrClosed
	}
	err := ks.Save()
	return errors.Join(err, ks.Journal.Close(), ks.Outbox.Close(ks.Settings.Dir))
}

// Expire drops expired generations, and the cursors of sites without data.
func (ks *Keyspace) Expire() {
	ks.Common.Expire()
	ks.Peers.Rewind()
	if ks.Store.Expire() {
		ks.Peers.Forget()
	}
}

// Tick performs the periodic work. It is called once a second.
func (ks *Keyspace) Tick() error {
	ks.Expire()
	ks.Votes.Own.Expire(ks.Settings.VotesGeneration() - 1)
	ks.Outbox.Compact()
	err := errors.Join(ks.Journal.Flush(), ks.Journal.List.RaiseLater(ks.Journal.Durable, ks.Settings.Now()),
		ks.Outbox.Write(ks.Settings.Dir, ks.Settings.Now()))
	if ks.isSaveDue() {
		_ = ks.Save() // the error stays until the next attempt
	}
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	return errors.Join(err, ks.saveFault)
}

// isSaveDue reports whether a snapshot is due: by the clock, by the length of the journal, or because
// the journal lacks a change. After a failure, the next attempt is due in a minute.
func (ks *Keyspace) isSaveDue() bool {
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	now := ks.Settings.Now()
	if wait := now.Sub(ks.triedSave); wait >= 0 && wait < saveRetry {
		return false
	}
	age := now.Sub(ks.lastSave)
	return age >= saveInterval || age < 0 || ks.Journal.SnapshotDue() ||
		ks.Journal.BytesFrom(0)-ks.journalBase.Load() > MaxJournal
}

// ErrNothing is the error for a message without signatures.
var ErrNothing = errors.New("too little content to sign")

const (
	saveInterval = 10 * time.Minute
	saveRetry    = time.Minute
	// MaxJournal is the length of the journal from which a snapshot is due at once. Unit: bytes.
	MaxJournal = 64 << 20
)

// HoldsReports reports whether there are reports, of this site only or of any.
func (ks *Keyspace) HoldsReports(own bool) bool {
	for _, g := range ks.Store.View.Load().Reports {
		for _, kind := range layout.ReportKinds {
			if l := g.Listing(kind); l.Own != nil || !own && len(l.Parts) > 0 {
				return true
			}
		}
	}
	return !own && len(ks.Votes.Received.All()) > 0
}

// witness uses the time of a record to confirm the clock, if its site is fully trusted.
func (ks *Keyspace) witness(h wire.Head) {
	if h.Site != ks.Settings.Site && ks.Sealer.TrustOf(h.Site) == wire.TrustFull && !ks.Store.Muted(h.Site) {
		ks.Keeper.Witness(h.Site, h.Made)
	}
}

// Now returns the time by the clock of this site's records.
func (ks *Keyspace) Now() time.Time { return ks.Settings.Now() }

// TakeMuted mutes or drops a site as another keyspace did.
func (ks *Keyspace) TakeMuted(m folder.MutedSite) (err error) {
	known, muted := ks.Store.View.Load().Trusted.Find(m.Site)
	if !muted {
		err = ks.Peers.SetMuted(m.Site, true)
	}
	if m.Dropped && !known.Dropped {
		err = errors.Join(err, ks.DropSite(m.Site))
	}
	return err
}

func (ks *Keyspace) DropSite(site string) error {
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	err := ks.Peers.Drop(site, func(epochs []layout.Origin) {
		for _, o := range epochs {
			delete(ks.Files.Saved, snapshot.SitePath(ks.Settings.Dir, o))
		}
		ks.Votes.Received.Drop(site)
	})
	if err != nil {
		return fmt.Errorf("drop %s: %w", site, err)
	}
	return nil
}
