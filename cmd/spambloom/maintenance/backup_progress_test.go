package maintenance

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Bytes that are counted slowly race with nothing: the bar has no goroutine of its own. (Its
// default for outputs other than terminals has one, which looks ten times a second.)
func TestByteProgressIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &verb.CLI{Streams: verb.Streams{Err: new(bytes.Buffer)}}
		bar := byteProgress(c, "backed up")
		time.Sleep(time.Second)
		if _, err := bar.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if now := bar.State().CurrentBytes; now != 100 {
			t.Errorf("%v bytes", now)
		}
		testenv.Check(t, bar.Finish())
	})
}
