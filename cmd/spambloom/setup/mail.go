package setup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// refusal is an answer of the mail server that it does not take the mail.
type refusal struct {
	answer  *textproto.Error
	isAtEnd bool // after the mail, where the daemon decides
}

func (r *refusal) Error() string { return r.answer.Error() }

// deliver sends a mail over SMTP (RFC 5321), with the empty sender, to which nothing bounces.
func (t *trial) deliver(ctx context.Context, message string) error {
	var conn net.Conn
	var final error
	err := eventually(ctx, delivery, func() error { // a restarted mail server needs a moment
		if conn, final = t.connect(ctx); errors.Is(final, errLocal) {
			return nil
		}
		return final
	})
	if err != nil || final != nil {
		return final
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	c := textproto.NewConn(conn)
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	_, _, err = c.ReadResponse(2)
	for _, s := range []struct {
		line string
		code int // its first digit
	}{{"EHLO " + host, 2}, {"MAIL FROM:<>", 2}, {"RCPT TO:<" + t.To + ">", 2}, {"DATA", 3}} {
		if err == nil {
			err = dialogue(c, s.line, s.code)
		}
	}
	if err != nil {
		return refused(err, false)
	}
	body := c.DotWriter()
	if _, err := io.WriteString(body, message); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	if _, _, err := c.ReadResponse(2); err != nil {
		return refused(err, true)
	}
	_ = c.PrintfLine("QUIT") // the mail is accepted
	return nil
}

func dialogue(c *textproto.Conn, line string, code int) error {
	if err := c.PrintfLine("%s", line); err != nil {
		return err
	}
	_, _, err := c.ReadResponse(code)
	return err
}

func refused(err error, isAtEnd bool) error {
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return &refusal{answer, isAtEnd}
	}
	return err
}

// Bounds of the search for a delivered copy.
const (
	delivery = 10 * time.Second
	tail     = 64 << 10 // bytes at the end of a file that are searched
	maxFiles = 1000
)

var errNoCopy = errors.New("no copy")

// findHeader waits for the delivered copy of a mail, and returns its X-Spambloom; "" if none
// is found.
func (t *trial) findHeader(ctx context.Context, id string) (header string) {
	_ = eventually(ctx, delivery, func() error { // header is "" then
		for _, path := range t.mailFiles() {
			if header = headerIn(readTail(path), id); header != "" {
				return nil
			}
		}
		return errNoCopy
	})
	return header
}

// mailFiles returns the files that may contain the copy.
func (t *trial) mailFiles() []string {
	folder := t.Mailbox
	switch {
	case folder == "":
		folder = "/var/mail"
	case isFolder(filepath.Join(folder, "new")):
		folder = filepath.Join(folder, "new")
	case !isFolder(folder):
		return []string{folder}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries[:min(len(entries), maxFiles)] {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files
}

func readTail(path string) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a user may have replaced it by a pipe
	if err != nil {
		return nil
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size > tail {
		_, err = f.Seek(-tail, io.SeekEnd)
		if err != nil {
			return nil
		}
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, tail))
	if err != nil {
		return nil
	}
	return text
}

// headerIn returns the X-Spambloom above a Message-ID.
func headerIn(text []byte, id string) string {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	at := bytes.Index(text, []byte("\nMessage-ID: <"+id))
	if at < 0 {
		return ""
	}
	head := text[bytes.LastIndex(text[:at], []byte("\n\n"))+1 : at] // without earlier mails of an mbox
	lines := strings.NewReplacer("\n\t", " ", "\n ", " ").Replace(string(head))
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "X-Spambloom: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
