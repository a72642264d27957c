package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
)

const maskHead = 8 + 4 // generation, number of keys

var MaskForm = folder.SealedForm{FileForm: folder.FileForm{Name: "mask", Magic: "SBMASK\r\n", Version: 1}, Most: maskHead + MaxRetouched*journal.RetouchedSize}

var MaskFiles = folder.GenerationFiles{Prefix: "spam-", Suffix: ".mask"}

func maskPath(dir string, gen int64) string { return MaskFiles.Path(dir, gen) }

// ParseMaskPath is the inverse of MaskFiles.Path.
func ParseMaskPath(name string) (gen int64, ok bool) { return MaskFiles.Parse(name) }

// encodeMask writes the retouched keys of a generation.
func encodeMask(w io.Writer, keyID [8]byte, gen int64, keys []journal.RetouchedKey) error {
	b := binary.BigEndian.AppendUint64(MaskForm.Begin(keyID), uint64(gen))
	b = binary.BigEndian.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = journal.AppendRetouched(b, k)
	}
	return folder.WriteChecked(w, b)
}

// ReadMask reads the file of a mask. Damage is a *DamageError.
func ReadMask(path string, keyID [8]byte, gen int64) (keys []journal.RetouchedKey, err error) {
	err = MaskForm.Load(path, func(data []byte) (err error) {
		keys, err = decodeMask(data, keyID, gen)
		return err
	})
	return keys, err
}

func decodeMask(data []byte, keyID [8]byte, gen int64) ([]journal.RetouchedKey, error) {
	body, err := MaskForm.Open(data, keyID)
	if err != nil {
		return nil, err
	}
	if len(body) < maskHead {
		return nil, errors.New("file is cut short")
	}
	if of := int64(binary.BigEndian.Uint64(body)); of != gen {
		return nil, fmt.Errorf("it belongs to generation %d", of)
	}
	keys, err := journal.DecodeRetouched(body[maskHead:])
	if err != nil {
		return nil, err
	}
	if n := binary.BigEndian.Uint32(body[8:]); int(n) != len(keys) {
		return nil, fmt.Errorf("it has %d keys, its head claims %d", len(keys), n)
	}
	for _, k := range keys {
		if k.Bit == journal.TakenBack {
			return nil, fmt.Errorf("%s is not retouched", k.Name)
		}
	}
	return keys, nil
}

// MaskSnapshots returns the masks, one for each file.
func (st *Store) MaskSnapshots() []folder.Pending {
	var list []folder.Pending
	for _, g := range st.View.Load().Reports {
		if g.Mask == nil {
			continue
		}
		_, _, changes := g.Mask.Size()
		list = append(list, folder.Pending{
			Path:  maskPath(st.Opt.Dir, g.Num),
			State: folder.Saved{Changes: changes + 1, Sections: 1},
			Write: func(w io.Writer) error { return encodeMask(w, st.Ring.KeyID, g.Num, g.Mask.All()) },
		})
	}
	return list
}
