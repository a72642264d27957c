package clock

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A stamp is decoded as it was encoded, with and without a guess. Without one it has the form
// that earlier versions read.
func TestStampIsReadAsWritten(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 7e6, time.UTC)
	for _, s := range []stamped{
		{time: at}, {time: at, lasted: time.Hour, least: -3 * time.Hour},
		{time: at, guess: 5 * time.Hour, ran: time.Minute},
	} {
		dir := t.TempDir()
		testenv.Check(t, os.WriteFile(filepath.Join(dir, File), s.bytes(), 0o600))
		got, err := ReadStamp(dir)
		if err != nil || got != s {
			t.Errorf("read %+v (%v), want %+v", got, err, s)
		}
		if size := len(s.bytes()); s.guess == 0 && size != folder.FileHead+certainStamp+4 {
			t.Errorf("%d bytes without a guess", size)
		}
		if !bytes.HasPrefix(s.bytes(), []byte("SBCLOCK\n\x00\x01")) {
			t.Errorf("begins %q", s.bytes()[:10])
		}
	}
}
