package peers

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Limits on what other sites can make this one store.
const (
	// maxOrigins bounds the epochs of all sites. Each with counts costs a judgement 1 to 3 us.
	maxOrigins = 1024
	maxEpochs  = 16 // epochs of one site; earlier ones are united
	MinParts   = 256 << 20
)

// Order describes the numbers between the cursor and a delta.
type Order int

const (
	// Next: no number between them may be missing.
	Next Order = iota
	// Skipped: the missing ones were rejected. They are counted as gaps until a snapshot
	// supplies them, because the reason for the rejection may not last.
	Skipped
	// Lost: the missing ones are no longer in the stream. They are counted likewise.
	Lost
)

// Apply joins the delta of another site. It joins no section before all are checked.
func (ps *Peers) Apply(data []byte, order Order) error {
	d, err := ps.sealer.DecodeDelta(data)
	if err != nil || d.Site == ps.opt.Site {
		return err
	}
	if err := ps.sealer.RequireFullTrust(d.Site); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(d.Head)
	if err != nil || d.Seq <= state.seq {
		return err
	}
	if d.Prev > state.seq && order == Next {
		return fmt.Errorf("%s: %w: it follows %d, but the last one applied is %d", d, wire.ErrGap, d.Prev, state.seq)
	}
	sections, err := ps.accepted(d, state)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	for _, s := range sections {
		if err := ps.store.JoinCells(d.Origin, s.Target, s.Shape, s.Cells); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	if d.Prev > state.seq {
		state.miss(d.Prev, order)
	}
	state.seq = d.Seq
	ps.sites[d.Origin] = state
	return nil
}
