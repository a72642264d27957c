package bloomdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
)

// FuzzExport leaves the authentication codes out of the way: they are made right for
// frames of whatever the fuzzer wrote, each as its length in three bytes and its body.
// What is taken leaves a whole database, and one that opens again.
func FuzzExport(f *testing.F) {
	o := alone(small(f.TempDir()))
	a := openTest(f, o)
	mustReportAs(f, a, 1, ClassPhish)
	mustReportSet(f, a, wordy(4, words(0, 60)...))
	mustCount(f, a, 1, 20)
	for _, step := range []func() error{
		func() error { return a.Revoke(message(2)) },
		func() error { _, err := a.Retouch(message(1)); return err },
		func() error { _, err := a.Never(message(7), "x"); return err },
	} {
		if err := step(); err != nil {
			f.Fatal(err)
		}
	}
	for _, frames := range [][]byte{nil, framesOf(exported(f, a)), framesOf(exported(f, openTest(f, small(f.TempDir()))))} {
		f.Add(frames)
	}
	dir, n := f.TempDir(), 0
	var db *DB // nothing is known of it
	f.Fuzz(func(t *testing.T, frames []byte) {
		if db == nil {
			n++
			var err error
			if db, err = Open(alone(small(filepath.Join(dir, fmt.Sprint(n))))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ImportOwn(bytes.NewReader(proven(db, frames))); err != nil {
			if len(exportedCells(db)) > 0 || len(db.NeverList()) > 0 || len(db.Retouched()) > 0 {
				t.Fatalf("something is known of what was refused: %v", err)
			}
			return
		}
		o := db.opt
		crash(t, db)
		db = nil
		openTest(t, o) // is checked when the test ends
	})
}

// framesOf takes the bodies out of an export, of one part.
func framesOf(export []byte) (frames []byte) {
	for b := export[exportHeader+8:]; len(b) > 0; {
		n := int(binary.BigEndian.Uint32(b))
		frames = append(append(frames, b[1:4]...), b[4:4+n]...)
		b = b[4+n+macSize:]
	}
	return frames
}

// proven makes an export of them.
func proven(db *DB, frames []byte) []byte {
	export := append(appendExportHeader(nil, 1), db.keyID[:]...)
	chain := frameChain{db: db}
	for len(frames) >= 3 {
		n := min(int(frames[0])<<16|int(frames[1])<<8|int(frames[2]), len(frames)-3)
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(n)), frames[3:3+n]...)
		mac := chain.next(frame)
		export = append(append(export, frame...), mac[:]...)
		frames = frames[3+n:]
	}
	return export
}
