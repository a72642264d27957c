package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A thief of a site's key writes a record of the last epoch there is. The site does not begin the one after
// it, in which no site would accept its records, ever.
func TestOwnRecordOfTheLastEpoch(t *testing.T) {
	key, err := keyring.NewSigningKey()
	testenv.Check(t, err)
	s := &Sealer{Opt: &layout.Settings{Site: "a", Now: time.Now}, Ring: keyring.NewRing([32]byte{1}), SigningKey: key}
	for epoch, want := range map[uint64]error{maxOwnEpoch: nil, maxOwnEpoch + 1: ErrUnverified, maxEpoch: ErrUnverified} {
		record := s.EncodeRecord(Head{Type: RecordHeartbeat, Site: "a", Epoch: epoch, Made: time.Now()}, nil)
		if _, err := s.OwnRecord(record, RecordHeartbeat); !errors.Is(err, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, err, want)
		}
	}
}
