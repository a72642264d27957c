package commonness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
)

const head = 8 + 4 + 8 // generation, bits of an entry, lines

// Form is the form of the file of one set (FORMAT.md).
var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "commonness", Magic: "SBCOMM\r\n", Version: 1}, Most: head + int(shape.Bytes())}

// Files are the names of the files, by generation.
var Files = folder.GenerationFiles{Prefix: "common-", Suffix: ".set"}

// Snapshots returns the sets, one for each file.
func (t *Table) Snapshots() (list []folder.Pending) {
	if t.opt.Reports.NoCommonness {
		return nil // the next Save removes the files
	}
	for _, s := range *t.sets.Load() {
		list = append(list, folder.Pending{
			Path:  Files.Path(t.opt.Dir, s.gen),
			State: folder.Saved{Changes: s.changes.Load() + 1, Sections: 1},
			Write: func(w io.Writer) error { return folder.WriteChecked(w, encode(s, t.ring.KeyID)) },
		})
	}
	return list
}

func encode(s *set, key [8]byte) []byte {
	b := binary.BigEndian.AppendUint64(Form.Begin(key), uint64(s.gen))
	b = binary.BigEndian.AppendUint32(b, uint32(shape.K))
	b = binary.BigEndian.AppendUint64(b, shape.Lines)
	for i := range filter.Blocks(shape.Size(), false) {
		b, _ = s.bits.AppendRaw(i, b)
	}
	return b
}

// Load reads the file of one set. Damage is a *folder.DamageError.
func (t *Table) Load(path string, gen int64) error {
	if t.opt.Reports.NoCommonness {
		return nil
	}
	return Form.Load(path, func(data []byte) error {
		words, err := decode(data, t.ring.KeyID, gen)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		s, err := t.set(gen)
		if err != nil {
			return err
		}
		size := int(filter.BlockSize(false) / 8)
		for i := range filter.Blocks(shape.Size(), false) {
			s.bits.OrRaw(i, words[int(i)*size:min(int(i+1)*size, len(words))])
		}
		return nil
	})
}

// Check verifies the file of one set.
func Check(path string, key [8]byte, gen int64) error {
	return Form.Load(path, func(data []byte) error {
		_, err := decode(data, key, gen)
		return err
	})
}

// decode returns the words of a set.
func decode(data []byte, key [8]byte, gen int64) (words []byte, err error) {
	body, err := Form.Open(data, key)
	switch {
	case err != nil:
		return nil, err
	case len(body) < head:
		return nil, errors.New("file is cut short")
	}
	words = body[head:]
	switch of := int64(binary.BigEndian.Uint64(body)); {
	case of != gen:
		return nil, fmt.Errorf("it belongs to generation %d", of)
	case binary.BigEndian.Uint32(body[8:]) != uint32(shape.K) || binary.BigEndian.Uint64(body[12:]) != shape.Lines:
		return nil, errors.New("its set has another shape")
	case len(words) != int(shape.Bytes()):
		return nil, fmt.Errorf("it has %d bytes of bits, must be %d", len(words), shape.Bytes())
	}
	return words, nil
}
