package journal

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// RetouchedKey is a key that this site hides in one generation, and the masked bit that
// hides it.
type RetouchedKey struct {
	Hash filter.Hash
	Bit  uint8          // index into the key's Positions of the masked bit; or TakenBack
	Name layout.ShortID // for display
	At   int64          // seconds since 1970
}

// TakenBack is the Bit of a key that is no longer retouched.
const TakenBack = 0xff

// RetouchedSize is the size of a retouched key on disk: hash, bit, kind, short ID, time.
const RetouchedSize = 32 + 1 + 1 + 8 + 8

func AppendRetouched(dst []byte, k RetouchedKey) []byte {
	hash := k.Hash.Bytes()
	dst = append(dst, hash[:]...)
	dst = append(dst, k.Bit, byte(k.Name.Kind))
	dst = append(dst, k.Name.ID[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(k.At))
}

// DecodeRetouched decodes all of b.
func DecodeRetouched(b []byte) ([]RetouchedKey, error) {
	if len(b)%RetouchedSize != 0 {
		return nil, fmt.Errorf("%d bytes of retouched keys, must be a multiple of %d", len(b), RetouchedSize)
	}
	keys := make([]RetouchedKey, 0, len(b)/RetouchedSize)
	for e := range slices.Chunk(b, RetouchedSize) {
		k := RetouchedKey{
			Hash: filter.HashBytes([32]byte(e)),
			Bit:  e[32],
			Name: layout.ShortID{Kind: signature.Kind(e[33]), ID: [8]byte(e[34:])},
			At:   int64(binary.BigEndian.Uint64(e[42:])),
		}
		if k.Bit >= maxBits && k.Bit != TakenBack {
			return nil, fmt.Errorf("retouched key has masked bit %d, must be below %d", k.Bit, maxBits)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
