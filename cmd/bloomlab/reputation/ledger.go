package reputation

import (
	"encoding/binary"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// enterLedger returns the book of a ledger.
func enterLedger(l *ledger.Ledger) book {
	return func(w word) (decision, error) {
		e := ledger.Entry{Reporter: w.by, At: w.at, Period: w.at.Truncate(period), Set: setOf(w.keys), Listed: w.listed}
		if w.revoke {
			e.Stance = ledger.Ham
		}
		done, err := l.Enter(e)
		if err != nil {
			return decision{}, err
		}
		l.Settle(done)
		return decisionOf(done), nil
	}
}

// setOf returns signatures for keys, as those of attachments, because each of these counts
// separately.
func setOf(keys []key) signature.Set {
	var set signature.Set
	for _, k := range keys {
		s := signature.Signature{Kind: signature.KindAttachment}
		binary.BigEndian.PutUint64(s.Digest[:], uint64(k))
		set.Signatures = append(set.Signatures, s)
	}
	return set
}

func decisionOf(done ledger.Decision) (d decision) {
	for _, s := range done.Set.Signatures {
		k := key(binary.BigEndian.Uint64(s.Digest[:]))
		switch done.Action {
		case ledger.List:
			d.list = append(d.list, k)
		case ledger.Revoke:
			d.revoke = append(d.revoke, k)
		}
	}
	return d
}
