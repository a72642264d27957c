package journal

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// RetouchedKey is a key that this site has taken out of a generation, and the bit
// that does it.
type RetouchedKey struct {
	Hash filter.Hash
	Bit  uint8          // which of the key's bits is masked, in the order of its Positions; or TakenBack
	Name layout.ShortID // for lists
	At   int64          // when, in seconds since 1970
}

// TakenBack stands in the place of a bit: the key is not retouched any more.
const TakenBack = 0xff

// A retouched key on disk: hash, bit, kind, short ID, time.
const RetouchedSize = 32 + 1 + 1 + 8 + 8

func AppendRetouched(dst []byte, k RetouchedKey) []byte {
	hash := k.Hash.Bytes()
	dst = append(dst, hash[:]...)
	dst = append(dst, k.Bit, byte(k.Name.Kind))
	dst = append(dst, k.Name.ID[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(k.At))
}

// DecodeRetouched reads keys to the end of b.
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
			return nil, fmt.Errorf("retouched key rests on its bit %d, must be below %d", k.Bit, maxBits)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
