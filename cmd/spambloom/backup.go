package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting/backup"
)

func (c *cli) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "write a backup of the daemon's state while it runs",
		Long: `backup writes all that the daemon keeps in its state folder, as of one moment, into a
tar: filters, reports and reporters, the never-list, retouches, and the key files that
are there. Mail and reports go on meanwhile. Each report that was accepted before is in
it. Only root and the daemon's user may do this.

FILE appears when all of it is on disk and has been read back: backup restores it into
a temporary folder beside FILE and checks each file as a start would. That takes as
much room again for a while. A FILE of before is replaced only then. With - the tar
goes to standard output, and the restore checks it.

spambloomd --restore FILE restores it. The page contrib/backup.md says how to go back to
yesterday's state, move a site, rename it and remove it. FILE holds secret keys and names
reporters: keep it as you keep the state folder.

Exit codes:
  0   the backup is written, and whole` + usageCode + `
  65  it is damaged: what came from the daemon, or what the disk gave back
  73  FILE cannot be written` + daemonCodes + `
  130 interrupted, by SIGINT; FILE is as before`,
		Example: `  spambloom backup /var/backups/spambloom.tar
  spambloom backup - | ssh root@mx2 spambloomd --restore - --data /var/lib/spambloom`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("backup takes one FILE, or - for standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			write := c.saveBackup
			if args[0] == "-" {
				write = c.streamBackup
			}
			err := write(ctx, args[0])
			if ctx.Err() != nil {
				return verdictExit(exInterrupted)
			}
			return err
		},
	}
}

// backupError is a backup that is not whole.
type backupError struct{ error }

func (e *backupError) Unwrap() error { return e.error }

// streamBackup writes a backup to standard output.
func (c *cli) streamBackup(ctx context.Context, _ string) error {
	if isTerminal(c.stdout) {
		return &usageError{errors.New("a backup is binary: write it to a file, or pipe it")}
	}
	return c.fetchBackup(ctx, c.stdout, func(err error) error { return &outputError{err} })
}

// saveBackup writes a backup to a file, which it replaces when the new one is checked.
func (c *cli) saveBackup(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &createError{fmt.Errorf("%s is not a plain file", path)}
	}
	folder := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(folder), renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return &createError{err}
	}
	defer f.Cleanup()
	if err := c.fetchBackup(ctx, f, func(err error) error { return &createError{err} }); err != nil {
		return err
	}
	sum, err := readBack(ctx, f.File, folder)
	if err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return &createError{err}
	}
	if err := syncFolder(folder); err != nil {
		return &createError{err}
	}
	return c.print(sum.String())
}

// fetchBackup has the daemon write a backup to w, whose errors failed marks.
func (c *cli) fetchBackup(ctx context.Context, w io.Writer, failed func(error) error) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	out := &markedWriter{w: w, mark: failed}
	bar := c.byteProgress("backed up")
	defer func() { _ = bar.Finish() }()
	return daemon.Backup(ctx, io.MultiWriter(out, bar))
}

// markedWriter marks the errors of a writer.
type markedWriter struct {
	w    io.Writer
	mark func(error) error
}

func (m *markedWriter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	if err != nil {
		err = m.mark(err)
	}
	return n, err
}

// byteProgress shows on a terminal how much of a stream has passed.
func (c *cli) byteProgress(what string) *progressbar.ProgressBar {
	if !isTerminal(c.stderr) {
		return progressbar.DefaultBytesSilent(-1)
	}
	return progressbar.NewOptions64(-1, progressbar.OptionSetWriter(c.stderr),
		progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionClearOnFinish())
}

// readBack restores a backup that was written into a temporary folder, and checks all of
// it there.
func readBack(ctx context.Context, f *os.File, folder string) (sum backup.Summary, err error) {
	work, err := os.MkdirTemp(folder, ".backup-check-*")
	if err != nil {
		return sum, &createError{err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := f.Sync(); err != nil {
		return sum, &createError{err}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return sum, &createError{err}
	}
	sum, err = backup.Read(&stoppable{ctx, f}, work)
	var path *fs.PathError
	if errors.As(err, &path) && !errors.Is(err, backup.ErrBackup) {
		return sum, &createError{fmt.Errorf("check the backup: %w", err)}
	}
	if err != nil {
		return sum, &backupError{err}
	}
	return sum, nil
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
