package never

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// The fuzzer writes the content between header and checksum, and these are right.
func FuzzNever(f *testing.F) {
	f.Fuzz(func(t *testing.T, entry []byte) {
		data := append(Form.Begin([8]byte{1}), entry...)
		data = binary.BigEndian.AppendUint32(data, crc32.Checksum(data, folder.Castagnoli))
		e, err := decodeNever(data, [8]byte{1})
		if err != nil {
			return
		}
		if got := Encode([8]byte{1}, e); string(got) != string(data) {
			t.Fatalf("written again as %q", got)
		}
	})
}
