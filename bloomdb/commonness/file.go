package commonness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
)

const head = 8 + 1 // generation, number of layers

// Form is the form of the file of one set (FORMAT.md).
var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "commonness", Magic: "SBCOMM\r\n", Version: 1}, Most: mostFile()}

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

// mostFile returns the largest size of a file without its frame, in bytes.
func mostFile() int {
	most := head
	for _, l := range layers {
		most += 4 + int(l.shape.Bytes()) + 4*int(filter.Blocks(l.shape.Size(), false))
	}
	return most
}

func encode(s *set, key [8]byte) []byte {
	b := binary.BigEndian.AppendUint64(Form.Begin(key), uint64(s.gen))
	b = append(b, byte(len(s.layers)))
	for _, l := range s.layers {
		b = appendLayer(b, l)
	}
	return b
}

// appendLayer appends the blocks of a layer that are not empty.
func appendLayer(b []byte, l *filter.Bits) []byte {
	at, blocks := len(b), uint32(0)
	b = binary.BigEndian.AppendUint32(b, 0)
	for i := range filter.Blocks(l.Shape().Size(), false) {
		with, used := l.AppendRaw(i, binary.BigEndian.AppendUint32(b, uint32(i)))
		if used > 0 {
			b = with
			blocks++
		}
	}
	binary.BigEndian.PutUint32(b[at:], blocks)
	return b
}

// Load reads the file of one set. Of one that has expired, Expire decides: the clock may be ahead. Damage is a
// *folder.DamageError.
func (t *Table) Load(path string, gen int64) error {
	if t.opt.Reports.NoCommonness {
		return nil
	}
	return Form.Load(path, func(data []byte) error {
		read, err := decode(data, t.ring.KeyID, gen)
		if err != nil {
			return err
		}
		s := &set{gen: gen, changes: new(atomic.Int64)}
		for i, blocks := range read {
			bits, err := filter.NewBits(layers[i].shape)
			if err != nil {
				return err
			}
			for _, k := range blocks {
				bits.OrRaw(k.number, k.words)
			}
			s.layers = append(s.layers, bits)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.put(s)
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

// decode returns the blocks of a set's layers.
func decode(data []byte, key [8]byte, gen int64) (read [][]block, err error) {
	body, err := Form.Open(data, key)
	switch {
	case err != nil:
		return nil, err
	case len(body) < head:
		return nil, errors.New("file is cut short")
	}
	if of := int64(binary.BigEndian.Uint64(body)); of != gen {
		return nil, fmt.Errorf("it belongs to generation %d", of)
	}
	n, rest := int(body[8]), body[head:]
	if n < 1 || n > len(layers) {
		return nil, fmt.Errorf("it has %d layers, want 1 to %d", n, len(layers))
	}
	for _, l := range layers[:n] {
		var blocks []block
		if blocks, rest, err = decodeLayer(rest, l.shape.Size()); err != nil {
			return nil, err
		}
		read = append(read, blocks)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last layer", len(rest))
	}
	return read, nil
}

// decodeLayer returns the blocks of a layer of so many bits, and what follows it.
func decodeLayer(data []byte, size uint64) (blocks []block, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errors.New("a layer is cut short")
	}
	n, rest := binary.BigEndian.Uint32(data), data[4:]
	for next := uint64(0); n > 0; n-- {
		if len(rest) < 4 {
			return nil, nil, errors.New("a block is cut short")
		}
		number := uint64(binary.BigEndian.Uint32(rest))
		if rest = rest[4:]; number < next || number >= filter.Blocks(size, false) {
			return nil, nil, fmt.Errorf("block %d is out of order, or there is none", number)
		}
		length := int(min(filter.BlockSize(false), size-number*filter.BlockSize(false)) / 8)
		if len(rest) < length {
			return nil, nil, fmt.Errorf("block %d is cut short", number)
		}
		blocks, rest, next = append(blocks, block{number, rest[:length]}), rest[length:], number+1
	}
	return blocks, rest, nil
}
