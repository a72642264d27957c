// Package mailbox reads messages from where people keep them: files, mboxes,
// Maildirs, folders of these, and standard input. It owns finding and cutting
// out raw messages; it does not look into them.
//
//	name -> file, mbox, Maildir, folder or "-" -> Message, Message, error, Message, ...
//
// A fault costs one message or one file, never those after it.
package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// MaxMessage bounds a message in bytes; of a larger one the beginning is kept.
const MaxMessage = 64 << 20

// ErrEmpty is wrapped where a message has no bytes at all.
var ErrEmpty = errors.New("message of 0 bytes")

// Message is one raw message. The reader does not keep or reuse Raw.
type Message struct {
	Name      string // the file's; in an mbox of several, FILE:N with N from 1
	Raw       []byte
	Truncated bool // Raw is only the beginning, MaxMessage bytes long
}

// Read yields the messages of names in order; "-" is standard input, no names
// at all too. With an error stands the Name it is about, and what follows is
// still read. Folders are read recursively, without what begins with a dot; of a
// Maildir only cur and new are. A folder without any message is an error. The
// iterator can be used once where it reads standard input.
func Read(names []string, stdin io.Reader) iter.Seq2[Message, error] {
	if len(names) == 0 {
		names = []string{"-"}
	}
	return func(yield func(Message, error) bool) {
		for _, name := range names {
			if !readName(name, stdin, yield) {
				return
			}
		}
	}
}

// readName reads one name; like all of the readers here it returns false when
// yield does.
func readName(name string, stdin io.Reader, yield func(Message, error) bool) bool {
	if name == "-" {
		more := readStream("-", stdin, MaxMessage, yield)
		// Whoever pipes a message in should not die of a closed pipe.
		_, _ = io.Copy(io.Discard, stdin)
		return more
	}
	if name == "" {
		return yield(Message{}, errors.New("an empty file name"))
	}
	info, err := os.Stat(name)
	if err != nil {
		return yield(Message{Name: name}, err)
	}
	if info.IsDir() {
		return readFolder(name, yield)
	}
	return readFile(name, yield)
}

func readFile(name string, yield func(Message, error) bool) bool {
	f, err := os.Open(name)
	if err != nil {
		return yield(Message{Name: name}, err)
	}
	defer f.Close()
	return readStream(name, f, MaxMessage, yield)
}

func readFolder(root string, yield func(Message, error) bool) bool {
	more, found := true, false
	see := func(m Message, err error) bool {
		found = true
		return yield(m, err)
	}
	// The function keeps all errors to itself, so WalkDir has none.
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			more = see(Message{Name: path}, err)
		case path == root:
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			if entry.Name() == "tmp" && isMaildir(filepath.Dir(path)) {
				return fs.SkipDir // mail on its way in
			}
		case isMaildir(filepath.Dir(path)):
			// Indices and lists of the IMAP server stand beside cur and new.
		default:
			more = readEntry(path, entry, see)
		}
		if !more {
			return fs.SkipAll
		}
		return nil
	})
	if !found {
		return yield(Message{Name: root}, fmt.Errorf("%s: no message in it", root))
	}
	return more
}

// readEntry reads a folder's entry if it is a file, or a link to one. Links to
// folders are left alone: they may lead in a circle.
func readEntry(path string, entry fs.DirEntry, yield func(Message, error) bool) bool {
	mode := entry.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		if err != nil {
			return yield(Message{Name: path}, err)
		}
		mode = info.Mode().Type()
	}
	if !mode.IsRegular() {
		return true
	}
	return readFile(path, yield)
}

// isMaildir tells a Maildir by its folders cur and new.
func isMaildir(dir string) bool {
	for _, sub := range []string{"cur", "new"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// readStream reads a message, or an mbox if it begins as one. Of a message
// longer than limit only so much is kept.
func readStream(name string, r io.Reader, limit int, yield func(Message, error) bool) bool {
	in := bufio.NewReaderSize(r, 64<<10)
	begin, err := in.Peek(len(from))
	if err != nil && !errors.Is(err, io.EOF) {
		return yield(Message{Name: name}, named(name, err))
	}
	if bytes.Equal(begin, from) {
		return readMbox(name, in, limit, yield)
	}
	raw, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return yield(Message{Name: name}, named(name, err))
	}
	if len(raw) > limit {
		return yield(Message{name, raw[:limit], true}, nil)
	}
	return yieldMessage(Message{Name: name, Raw: raw}, yield)
}

func yieldMessage(m Message, yield func(Message, error) bool) bool {
	if len(m.Raw) == 0 {
		return yield(m, fmt.Errorf("%s: %w", m.Name, ErrEmpty))
	}
	return yield(m, nil)
}

// named adds the name to an error that lacks it.
func named(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
