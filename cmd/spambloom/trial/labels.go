package trial

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spambloom/spambloom/cmd/internal/mailbox"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// source is a path and the label of the mail in it.
type source struct {
	path string
	spam bool
}

// maxLabel bounds a line of a label file, in bytes.
const maxLabel = 64 << 10

// sources returns all paths that the flags name: spam, ham, then the labels.
func (f *replayFlags) sources(stdin io.Reader) ([]source, error) {
	var sources []source
	for _, path := range f.spam {
		sources = append(sources, source{path, true})
	}
	for _, path := range f.ham {
		sources = append(sources, source{path, false})
	}
	if f.labels == "" {
		return sources, nil
	}
	in, dir := stdin, ""
	if f.labels != "-" {
		file, err := mailbox.OpenNames(f.labels)
		if err != nil {
			return nil, &verb.InputError{Err: err}
		}
		defer file.Close()
		in, dir = file, filepath.Dir(f.labels)
	}
	labels, err := readLabels(in, dir)
	if err != nil {
		return nil, &verb.InputError{Err: fmt.Errorf("%s: %w", f.labels, err)}
	}
	return append(sources, labels...), nil
}

// readLabels reads lines "spam PATH" and "ham PATH", separated by a tab or blanks.
// Empty lines and lines that begin with # are skipped. Paths are relative to dir.
func readLabels(r io.Reader, dir string) ([]source, error) {
	var sources []source
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLabel)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.IndexAny(line, " \t")
		if at < 0 {
			return nil, fmt.Errorf("line %d: no path in %.80q", n, line)
		}
		label, path := line[:at], strings.TrimSpace(line[at:])
		if label = strings.ToLower(label); label != "spam" && label != "ham" {
			return nil, fmt.Errorf("line %d: label %.40q, want spam or ham", n, label)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		sources = append(sources, source{path, label == "spam"})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("the file has no labels")
	}
	return sources, nil
}

// labelled keeps the label of each message between reading and processing, which
// have the same order.
type labelled struct {
	mu   sync.Mutex // another goroutine reads the messages
	spam []bool
}

// inputs reads the messages of all sources.
func (l *labelled) inputs(c *verb.CLI, sources []source) iter.Seq2[batch.Input, error] {
	return func(yield func(batch.Input, error) bool) {
		for _, s := range sources {
			for in, err := range batch.Inputs(c, []string{s.path}) {
				l.mu.Lock()
				l.spam = append(l.spam, s.spam)
				l.mu.Unlock()
				if !yield(in, err) {
					return
				}
			}
		}
	}
}

// next reports whether the next processed message is spam.
func (l *labelled) next() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	spam := l.spam[0]
	l.spam = l.spam[1:]
	return spam
}
