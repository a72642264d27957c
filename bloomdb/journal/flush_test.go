package journal

import (
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A Flush that meets the end of a segment has lost no record.
func TestFlushWhileRotating(t *testing.T) {
	j, err := Open(t.TempDir(), [8]byte{1}, make(map[uint32]int64), 0, nil)
	testenv.Check(t, err)
	defer j.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range uint64(100) {
			_, err := add(j, n)
			testenv.Check(t, err)
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

// slowFile is a segment whose next sync, once begun, waits.
type slowFile struct {
	SegmentFile
	begun, end chan struct{} // nil: it does not wait
}

func (f *slowFile) Sync() error {
	if f.begun != nil {
		close(f.begun)
		<-f.end
	}
	return f.SegmentFile.Sync()
}

// A rotation shows the next segment before it has synced the last records of the old one. Flush waits for them:
// what is published after it must survive a power failure.
func TestFlushWaitsForRotation(t *testing.T) {
	var j *Log
	var first *slowFile
	begun, end := make(chan struct{}), make(chan struct{})
	var err error
	j, err = Open(t.TempDir(), [8]byte{1}, make(map[uint32]int64), 0, func(path string) (SegmentFile, error) {
		f, err := createFile(path)
		if first == nil {
			first = &slowFile{SegmentFile: f}
			return first, err
		}
		at, e := j.Append(Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2931}, Hashes: []filter.Hash{{1}}})
		testenv.Check(t, e)
		j.Done(at)
		first.begun, first.end = begun, end
		return f, err
	})
	testenv.Check(t, err)
	_, err = add(j, 1)
	testenv.Check(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := j.Rotate(); err != nil {
			t.Error(err)
		}
	})
	<-begun
	flushed := make(chan error)
	go func() { flushed <- j.Flush() }()
	select {
	case <-flushed:
		t.Fatal("Flush has returned before the record was synced")
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	testenv.Check(t, <-flushed)
	wg.Wait()
	first.begun = nil
	testenv.Check(t, j.Close())
}
