package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const maskHead = 8 + 4 // generation, number of keys

var maskForm = sealedForm{fileForm: fileForm{"mask", "SBMASK\r\n", 1}, most: maskHead + maxRetouched*retouchedSize}

var maskFiles = generationFiles{"spam-", ".mask"}

func maskPath(dir string, gen int64) string { return maskFiles.path(dir, gen) }

// parseMaskPath is the inverse of maskPath.
func parseMaskPath(name string) (gen int64, ok bool) { return maskFiles.parse(name) }

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
func readMask(path string, keyID [8]byte, gen int64) (keys []retouchedKey, err error) {
	err = maskForm.load(path, func(data []byte) (err error) {
		keys, err = decodeMask(data, keyID, gen)
		return err
	})
	return keys, err
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

// loadMasks reads the masks of a folder, after its filters: those have the shape. Of one
// that the identity does not name, the journal has it all; else a program that knows no
// masks had the folder meanwhile, and own reports of that time would be hidden.
func (ks *keyspace) loadMasks(entries []os.DirEntry, named []string) error {
	return ks.files.loadGenerations(maskFiles, entries, named, func(path string, gen int64) error {
		keys, err := readMask(path, ks.ring.keyID, gen)
		if err != nil {
			return err
		}
		if err := ks.store.applyMasks([]record{{target: target{spamFilter, gen}, retouched: keys}}); err != nil {
			return fmt.Errorf("mask %s: %w", path, err)
		}
		return nil
	})
}

// maskSnapshots lists the masks, one a file.
func (st *store) maskSnapshots() []pendingSnapshot {
	var list []pendingSnapshot
	for _, g := range st.view.Load().reports {
		if g.mask == nil {
			continue
		}
		_, _, changes := g.mask.size()
		list = append(list, pendingSnapshot{
			path:  maskPath(st.opt.Dir, g.num),
			state: savedState{changes: changes + 1, sections: 1},
			write: func(w io.Writer) error { return encodeMask(w, st.ring.keyID, g.num, g.mask.all()) },
		})
	}
	return list
}
