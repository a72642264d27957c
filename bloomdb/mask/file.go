package mask

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
)

const head = 8 + 8 + 4 // generation, position in the journal, number of keys

// Form is the form of the file of a mask: the keys of one generation.
var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "mask", Magic: "SBMASK\r\n", Version: 1}, Most: head + MaxKeys*journal.RetouchedSize}

// Files are the names of the files, by generation.
var Files = folder.GenerationFiles{Prefix: "spam-", Suffix: ".mask"}

// ParsePath is the inverse of Files.Path.
func ParsePath(name string) (gen int64, ok bool) { return Files.Parse(name) }

// Encode writes the retouched keys of a generation, after all records of the journal before at.
func Encode(w io.Writer, keyID [8]byte, gen int64, at folder.LSN, keys []journal.RetouchedKey) error {
	b := binary.BigEndian.AppendUint64(Form.Begin(keyID), uint64(gen))
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = journal.AppendRetouched(b, k)
	}
	return folder.WriteChecked(w, b)
}

// Read reads the file of a mask. Damage is a *DamageError.
func Read(path string, keyID [8]byte, gen int64) (keys []journal.RetouchedKey, at folder.LSN, err error) {
	err = Form.Load(path, func(data []byte) (err error) {
		keys, at, err = decode(data, keyID, gen)
		return err
	})
	return keys, at, err
}

func decode(data []byte, keyID [8]byte, gen int64) (keys []journal.RetouchedKey, at folder.LSN, err error) {
	body, err := Form.Open(data, keyID)
	if err != nil {
		return nil, 0, err
	}
	if len(body)%journal.RetouchedSize == head-8 { // of an earlier build: without a position
		body = slices.Insert(body, 8, make([]byte, 8)...)
	}
	if len(body) < head {
		return nil, 0, errors.New("file is cut short")
	}
	if of := int64(binary.BigEndian.Uint64(body)); of != gen {
		return nil, 0, fmt.Errorf("it belongs to generation %d", of)
	}
	if keys, err = journal.DecodeRetouched(body[head:]); err != nil {
		return nil, 0, err
	}
	if n := binary.BigEndian.Uint32(body[16:]); int(n) != len(keys) {
		return nil, 0, fmt.Errorf("it has %d keys, its head claims %d", len(keys), n)
	}
	for _, k := range keys {
		if k.Bit == journal.TakenBack {
			return nil, 0, fmt.Errorf("%s is not retouched", k.Name)
		}
	}
	return keys, folder.LSN(binary.BigEndian.Uint64(body[8:])), nil
}
