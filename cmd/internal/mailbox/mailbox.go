// Package mailbox reads messages from files, mboxes, Maildirs, folders of these, and
// standard input. It owns finding and extracting raw messages; it does not parse them.
//
//	name -> file, mbox, Maildir, folder or "-" -> Message, Message, error, Message, ...
//
// Standard input is one message and never an mbox. A delivery agent or mail program pipes
// one message in, some with a "From " line at its top. Its sender wrote the other lines, and
// must not be able to end the message and begin another one. So is a file of a Maildir, where some
// programs keep that line. An mbox is any other file that begins with it, /dev/stdin included.
//
// An error affects one message or one file, never those after it.
//
// The owner of a folder may be hostile to its reader, who may be root. A link in a folder is
// followed within the folder, and out of it only if nobody but the reader could have placed the
// link. A name is not followed if it is another user's link, or waited for if it is another
// user's pipe. Names are opened by handles of their folders, so replacing one meanwhile does
// not help.
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

// MaxMessage bounds a message in bytes; only the beginning of a larger one is kept.
const MaxMessage = 64 << 20

// maxDepth bounds folders within folders. The kernel opens a folder name by name, so a chain of n
// folders takes n² steps, and its owner n names.
const maxDepth = 100

var errTooDeep = fmt.Errorf("more than %d folders within each other; name the inner ones", maxDepth)

// ErrEmpty is wrapped by the error for a message without any bytes.
var ErrEmpty = errors.New("message of 0 bytes")

// Message is one raw message. The reader does not keep or reuse Raw.
type Message struct {
	Name      string // of the file; in an mbox with several messages FILE:N, with N from 1
	Raw       []byte
	Truncated bool // Raw is only the beginning, MaxMessage bytes long
}

// Read yields the messages of names in order; "-" and an empty list mean the one message on
// standard input. An error comes with the Name concerned, and reading continues after it. Folders
// are read recursively, without entries that begin with a dot; of a Maildir only cur and new
// are read. A folder without any message is an error. The iterator can be used once if it
// reads standard input.
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

// readName reads one name. Like all readers here it returns false when yield does.
func readName(name string, stdin io.Reader, yield func(Message, error) bool) bool {
	if name == "-" {
		more := readMessage("-", stdin, MaxMessage, yield)
		// A program that pipes a message in must not fail because of a closed pipe.
		_, _ = io.Copy(io.Discard, stdin)
		return more
	}
	if name == "" {
		return yield(Message{}, errors.New("an empty file name"))
	}
	info, err := lookUp(name)
	if err != nil {
		return yield(Message{Name: name}, err)
	}
	if info.IsDir() {
		return readFolder(name, info, yield)
	}
	return readFile(name, info, yield)
}

func readFile(name string, info fs.FileInfo, yield func(Message, error) bool) bool {
	f, err := openFile(name, info)
	if err != nil {
		return yield(Message{Name: name}, err)
	}
	defer f.Close()
	return readStream(name, f, MaxMessage, yield)
}

func readFolder(name string, info fs.FileInfo, yield func(Message, error) bool) bool {
	root, err := os.OpenRoot(name)
	if err != nil {
		return yield(Message{Name: name}, err)
	}
	defer root.Close()
	if err := isRootStill(root, info); err != nil {
		return yield(Message{Name: name}, named(name, err))
	}
	more, found := true, false
	see := func(m Message, err error) bool {
		found = true
		return yield(m, err)
	}
	// The function returns no errors, so WalkDir returns none.
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			more = see(Message{Name: filepath.Join(name, path)}, at(filepath.Join(name, path), err))
		case path == ".":
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			if entry.Name() == "tmp" && isMaildir(root, filepath.Dir(path)) {
				return fs.SkipDir // mail being delivered
			}
			if strings.Count(path, "/") >= maxDepth {
				if more = see(Message{Name: filepath.Join(name, path)}, at(filepath.Join(name, path), errTooDeep)); more {
					return fs.SkipDir
				}
			}
		case isMaildir(root, filepath.Dir(path)):
			// The IMAP server's indices and lists are beside cur and new.
		default:
			more = readEntry(root, path, entry, filepath.Join(name, path), see)
		}
		if !more {
			return fs.SkipAll
		}
		return nil
	})
	if !found {
		return yield(Message{Name: name}, fmt.Errorf("%s: no message in it", name))
	}
	return more
}

// readEntry reads a folder's entry if it is a file, or a link to one. It ignores links to
// folders, which may form a cycle.
func readEntry(root *os.Root, path string, entry fs.DirEntry, name string, yield func(Message, error) bool) bool {
	mode := entry.Type()
	if !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return true
	}
	f, err := openEntry(root, path, entry)
	if err != nil {
		return yield(Message{Name: name}, at(name, err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err == nil && info.Mode().IsRegular():
		return readStream(name, f, MaxMessage, yield)
	case mode.IsRegular():
		return yield(Message{Name: name}, at(name, errReplaced))
	}
	return true
}

// isMaildir recognises a Maildir by its folders cur and new.
func isMaildir(root *os.Root, dir string) bool {
	for _, sub := range []string{"cur", "new"} {
		if info, err := root.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// isOfMaildir reports whether a file is in cur or new of a Maildir, and so is one message.
func isOfMaildir(name string) bool {
	folder := filepath.Dir(name)
	if sub := filepath.Base(folder); sub != "cur" && sub != "new" {
		return false
	}
	root, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		return false
	}
	defer root.Close()
	return isMaildir(root, ".")
}

// readStream reads a message, or an mbox if the input begins like one. It keeps at most
// limit bytes of a message.
func readStream(name string, r io.Reader, limit int, yield func(Message, error) bool) bool {
	in := bufio.NewReaderSize(r, 64<<10)
	begin, err := in.Peek(len(from))
	if err != nil && !errors.Is(err, io.EOF) {
		return yield(Message{Name: name}, named(name, err))
	}
	if bytes.Equal(begin, from) && !isOfMaildir(name) {
		return readMbox(name, in, limit, yield)
	}
	return readMessage(name, in, limit, yield)
}

// readMessage reads one message, whatever its lines are. It keeps at most limit bytes.
func readMessage(name string, in io.Reader, limit int, yield func(Message, error) bool) bool {
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

// named adds the name to an error that does not contain it.
func named(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
