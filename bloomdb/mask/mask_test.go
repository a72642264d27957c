package mask

import (
	"bytes"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
)

// A mask of an earlier build, without a position in the journal, is read: what was retouched stays so.
func TestMaskWithoutPosition(t *testing.T) {
	var file bytes.Buffer
	want := []journal.RetouchedKey{{Bit: 3, At: 1}, {Bit: 4, At: 2}}
	for n := range len(want) + 1 {
		file.Reset()
		if err := Encode(&file, [8]byte{1}, 2930, folder.MakeLSN(7, 8), want[:n]); err != nil {
			t.Fatal(err)
		}
		keys, at, err := decode(file.Bytes(), [8]byte{1}, 2930)
		if err != nil || at != folder.MakeLSN(7, 8) || len(keys) != n {
			t.Errorf("%d keys at %d, %v", len(keys), at, err)
		}
		const position = folder.FileHead + 8
		before := folder.Seal(slices.Delete(slices.Clone(file.Bytes()[:file.Len()-4]), position, position+8))
		if again, at, err := decode(before, [8]byte{1}, 2930); err != nil || at != 0 || !slices.Equal(again, keys) {
			t.Errorf("%v at %d, %v; want %v", again, at, err, keys)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, _, err := decode(data, [8]byte{1}, 2930)
		if err != nil {
			return
		}
		m := New(filter.BitsShape{Lines: 4, K: 8})
		m.Set(keys)
		if m.Set(keys); m.Check() != nil || len(m.All()) > len(keys) {
			t.Fatalf("%d keys make a mask of %d: %v", len(keys), len(m.All()), m.Check())
		}
	})
}
