package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const maskHead = 8 + 4 // generation, number of keys

var maskForm = sealedForm{name: "mask", magic: "SBMASK\r\n", version: 1, most: maskHead + maxRetouched*retouchedSize}

func maskPath(dir string, gen int64) string {
	return filepath.Join(dir, fmt.Sprintf("spam-%d.mask", gen))
}

// parseMaskPath is the inverse of maskPath.
func parseMaskPath(name string) (gen int64, ok bool) {
	name, spam := strings.CutPrefix(name, "spam-")
	name, mask := strings.CutSuffix(name, ".mask")
	gen, err := strconv.ParseInt(name, 10, 64)
	return gen, spam && mask && err == nil
}

// encodeMask writes the retouched keys of a generation.
func encodeMask(w io.Writer, keyID [8]byte, gen int64, keys []retouchedKey) error {
	b := binary.BigEndian.AppendUint64(maskForm.begin(keyID), uint64(gen))
	b = binary.BigEndian.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = appendRetouched(b, k)
	}
	return writeChecked(w, b)
}

// readMask reads a mask's file. Damage is a *DamageError.
func readMask(path string, keyID [8]byte, gen int64) ([]retouchedKey, error) {
	data, err := maskForm.read(path)
	if err != nil {
		return nil, err
	}
	keys, err := decodeMask(data, keyID, gen)
	if err != nil {
		return nil, damaged(path, 0, err)
	}
	return keys, nil
}

func decodeMask(data []byte, keyID [8]byte, gen int64) ([]retouchedKey, error) {
	body, err := maskForm.open(data, keyID)
	if err != nil {
		return nil, err
	}
	if len(body) < maskHead {
		return nil, errors.New("file is cut short")
	}
	if of := int64(binary.BigEndian.Uint64(body)); of != gen {
		return nil, fmt.Errorf("it is of generation %d", of)
	}
	keys, err := decodeRetouched(body[maskHead:])
	if err != nil {
		return nil, err
	}
	if n := binary.BigEndian.Uint32(body[8:]); int(n) != len(keys) {
		return nil, fmt.Errorf("it has %d keys, its head says %d", len(keys), n)
	}
	for _, k := range keys {
		if k.bit == takenBack {
			return nil, fmt.Errorf("%s is not retouched", k.name)
		}
	}
	return keys, nil
}

// loadMasks reads the masks of a folder, after its filters: those have the shape.
// One that the identity does not name is passed over. If it was being written at a
// crash, the journal has it all; else a program that knows no masks had the folder
// meanwhile, and own reports of that time would be hidden.
func (db *DB) loadMasks(entries []os.DirEntry, named []string) error {
	for _, e := range entries {
		gen, ok := parseMaskPath(e.Name())
		if !ok {
			continue
		}
		path := maskPath(db.opt.Dir, gen)
		db.saved[path] = savedState{} // on disk, and to be written again or removed
		if !slices.Contains(named, e.Name()) {
			continue
		}
		keys, err := readMask(path, db.keyID, gen)
		if err != nil {
			if err := db.contain(err); err != nil {
				return err
			}
			continue
		}
		if err := db.applyMasks([]record{{target: target{spamFilter, gen}, retouched: keys}}); err != nil {
			return fmt.Errorf("mask %s: %w", path, err)
		}
	}
	return nil
}

// maskSnapshots lists the masks, one a file.
func (db *DB) maskSnapshots() []pendingSnapshot {
	var list []pendingSnapshot
	for _, g := range db.view.Load().reports {
		if g.mask == nil {
			continue
		}
		_, _, changes := g.mask.size()
		list = append(list, pendingSnapshot{
			path:  maskPath(db.opt.Dir, g.num),
			state: savedState{changes: changes + 1, sections: 1},
			write: func(w io.Writer) error { return encodeMask(w, db.keyID, g.num, g.mask.all()) },
		})
	}
	return list
}
