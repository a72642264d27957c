package keyspace

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Relist lists or revokes a message of the ledger in a keyspace that has not had the report, and
// lets this site's votes contain it. A keyspace that has all reports stays as it is. Relist returns
// ErrFull if the generation has no room left.
func (ks *Keyspace) Relist(t layout.Target, set signature.Set, class layout.Class, at time.Time) error {
	if !ks.Outbox.MustRelist() {
		return nil
	}
	own, err := ks.Store.OwnBits(t, ks.Store.ShapeFor(t))
	if err == nil {
		err = ks.Settings.Fits(t.Kind.String()+" filter", own.Shape(), own.Ones(), t)
	}
	if err == nil {
		err = ks.Restore(t, set, class, at)
	}
	if err != nil || t.Kind != layout.SpamFilter || t.Gen < ks.Settings.VotesGeneration() {
		return err
	}
	return ks.Votes.Apply(ks.Votes.Record(t.Kind, set.Signatures, t.Gen, layout.ReporterRungs))
}

// Relisted saves a keyspace that lacked reports of the ledger, and records that it has all of them.
func (ks *Keyspace) Relisted() error {
	if !ks.Outbox.MustRelist() {
		return nil
	}
	if err := ks.Save(); err != nil {
		return err
	}
	return ks.Outbox.Relisted()
}
