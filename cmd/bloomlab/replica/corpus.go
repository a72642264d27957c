package replica

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
	"github.com/spambloom/spambloom/cmd/internal/mailbox"
)

// Message is a message of a corpus.
type Message struct {
	Name string
	Raw  []byte
	Mail *message.Mail // nil: too broken to be varied
}

// Corpus is mail sorted by hand.
type Corpus struct{ Spams, Ham []Message }

// maxArchive bounds an unpacked archive, in bytes.
const maxArchive = 1 << 30

// Read reads a folder with the folders spam and ham in it, or such a folder packed
// as .tar.xz, for which the program xz must be installed.
func Read(ctx context.Context, name string) (*Corpus, error) {
	c := &Corpus{}
	var err error
	if strings.HasSuffix(name, ".tar.xz") {
		err = c.readArchive(ctx, name)
	} else {
		err = c.readFolders(name)
	}
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	if len(c.Spams) == 0 || len(c.Ham) == 0 {
		return nil, fmt.Errorf("corpus %s: %d spams and %d ham; both must be there", name, len(c.Spams), len(c.Ham))
	}
	return c, nil
}

func (c *Corpus) readFolders(root string) error {
	for _, sub := range []string{"spam", "ham"} {
		for m, err := range mailbox.Read([]string{filepath.Join(root, sub)}, nil) {
			if err != nil {
				return err
			}
			c.add(sub, filepath.Base(m.Name), m.Raw)
		}
	}
	return nil
}

// readArchive unpacks with xz. The folder of each file is its label.
func (c *Corpus) readArchive(ctx context.Context, name string) (err error) {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	xz := exec.CommandContext(ctx, "xz", "--decompress", "--stdout", "--", name)
	out, err := xz.StdoutPipe()
	if err != nil {
		return err
	}
	if err := xz.Start(); err != nil {
		return err
	}
	err = c.readTar(io.LimitReader(out, maxArchive))
	if err != nil {
		stop() // xz would wait for a reader
	}
	return errors.Join(err, xz.Wait())
}

func (c *Corpus) readTar(in io.Reader) error {
	for r := tar.NewReader(in); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in)
			return err
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(r, mailbox.MaxMessage))
		if err != nil {
			return fmt.Errorf("%s: %w", head.Name, err)
		}
		c.add(path.Base(path.Dir(head.Name)), path.Base(head.Name), raw)
	}
}

func (c *Corpus) add(folder, name string, raw []byte) {
	m := Message{Name: name, Raw: raw}
	m.Mail, _ = message.Parse(name, raw) // a broken message is judged, but not varied
	switch folder {
	case "spam":
		c.Spams = append(c.Spams, m)
	case "ham":
		c.Ham = append(c.Ham, m)
	}
}

func (c *Corpus) material() *variation.Material {
	mails := func(list []Message) (mails []*message.Mail) {
		for _, m := range list {
			if m.Mail != nil {
				mails = append(mails, m.Mail)
			}
		}
		return mails
	}
	return variation.Gather(mails(c.Spams), mails(c.Ham))
}
