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
var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "commonness", Magic: "SBCOMM\r\n", Version: 1}, Most: head + int(shape.Bytes()) + 4*int(filter.Blocks(shape.Size(), false))}

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
		with, used := s.bits.AppendRaw(i, binary.BigEndian.AppendUint32(b, uint32(i)))
		if used > 0 {
			b = with
		}
	}
	return b
}

// Load reads the file of one set. Damage is a *folder.DamageError.
func (t *Table) Load(path string, gen int64) error {
	if t.opt.Reports.NoCommonness {
		return nil
	}
	return Form.Load(path, func(data []byte) error {
		blocks, err := decode(data, t.ring.KeyID, gen)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		s, err := t.set(gen)
		if err != nil {
			return err
		}
		for _, k := range blocks {
			s.bits.OrRaw(k.number, k.words)
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

// block is a block of a filter that is not empty.
type block struct {
	number uint64
	words  []byte
}

// decode returns the blocks of a set.
func decode(data []byte, key [8]byte, gen int64) ([]block, error) {
	body, err := Form.Open(data, key)
	switch {
	case err != nil:
		return nil, err
	case len(body) < head:
		return nil, errors.New("file is cut short")
	}
	switch of := int64(binary.BigEndian.Uint64(body)); {
	case of != gen:
		return nil, fmt.Errorf("it belongs to generation %d", of)
	case binary.BigEndian.Uint32(body[8:]) != uint32(shape.K) || binary.BigEndian.Uint64(body[12:]) != shape.Lines:
		return nil, errors.New("its set has another shape")
	}
	return decodeBlocks(body[head:])
}

func decodeBlocks(rest []byte) (blocks []block, err error) {
	for next := uint64(0); len(rest) > 0; {
		if len(rest) < 4 {
			return nil, errors.New("a block is cut short")
		}
		number := uint64(binary.BigEndian.Uint32(rest))
		if rest = rest[4:]; number < next || number >= filter.Blocks(shape.Size(), false) {
			return nil, fmt.Errorf("block %d is out of order, or there is none", number)
		}
		from := number * filter.BlockSize(false)
		size := int(min(filter.BlockSize(false), shape.Size()-from) / 8)
		if len(rest) < size {
			return nil, fmt.Errorf("block %d is cut short", number)
		}
		blocks, rest, next = append(blocks, block{number, rest[:size]}), rest[size:], number+1
	}
	return blocks, nil
}
