package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

// logTail reads a daemon's log while it grows. The log of a long soak has hundreds of
// megabytes, so only the lines for administrators are kept.
type logTail struct {
	mu      sync.Mutex // guards all below
	message map[string]harness.MessageLine
	twice   []string // queue ids with more than one line
	reloads map[string]int
	strange []string // lines that are not JSON: a panic or a data race
	failed  []string // queue ids of some of the messages that were not judged
	errors  []string // all else of level ERROR

	stop  chan struct{}
	ended chan error
}

func tailLog(t *testing.T, path string) *logTail {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l := &logTail{message: map[string]harness.MessageLine{}, reloads: map[string]int{}, stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() {
		defer file.Close()
		l.ended <- l.read(bufio.NewReaderSize(file, 1<<20))
	}()
	return l
}

// end reads the rest and returns.
func (l *logTail) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
}

func (l *logTail) read(r *bufio.Reader) error {
	stopping, half := false, ""
	for {
		line, err := r.ReadString('\n')
		half += line
		switch {
		case err == nil:
			l.line(half)
			half = ""
		case !errors.Is(err, io.EOF):
			return err
		case stopping:
			if half != "" {
				l.line(half)
			}
			return nil
		default:
			select {
			case <-l.stop:
				stopping = true
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

func (l *logTail) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var line struct {
		harness.MessageLine
		Level string
	}
	if json.Unmarshal([]byte(text), &line) != nil {
		l.strange = append(l.strange, text)
		return
	}
	switch {
	case line.Msg == "message":
		if _, again := l.message[line.QueueID]; again {
			l.twice = append(l.twice, line.QueueID)
		}
		l.message[line.QueueID] = line.MessageLine
	case line.Msg == "reloaded", strings.HasPrefix(line.Msg, "reload failed"):
		l.reloads[line.Msg]++
	case line.Msg == "message not judged":
		l.failed = append(l.failed, line.QueueID)
	case line.Level == "ERROR":
		l.errors = append(l.errors, text)
	}
}

// verdicts returns the number of messages for each verdict.
func (l *logTail) verdicts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[string]int{}
	for _, line := range l.message {
		n[line.Verdict]++
	}
	return n
}

// reloaded returns the number of answers to a SIGHUP.
func (l *logTail) reloaded() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.reloads {
		n += times
	}
	return n
}
