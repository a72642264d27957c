package journal

import (
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// A Flush that meets the end of an empty segment has lost no record.
func TestFlushWhileRotating(t *testing.T) {
	j, err := Open(t.TempDir(), [8]byte{1}, make(map[uint32]int64), 0, nil)
	testenv.Check(t, err)
	defer j.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			if _, err := j.Rotate(); err != nil {
				t.Error(err)
			}
		}
		close(stop)
	})
	for n := 0; ; n++ {
		if err := j.Flush(); err != nil {
			t.Errorf("flush %d: %v", n, err)
			break
		}
		select {
		case <-stop:
			wg.Wait()
			return
		default:
		}
	}
	wg.Wait()
}
