// Package maintenance is the verbs backup, fsck and version. The formats of a backup belong to
// package reporting/backup; package doctor checks what surrounds the daemon.
package maintenance

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

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/backup"
)

// BackupCommand returns the verb backup.
func BackupCommand(c *verb.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "write a backup of the daemon's state while it runs",
		Long: `backup writes the state of the running daemon into a tar file. spambloomd --restore
FILE restores it.

The tar is a consistent copy of the state folder: filters, reports and reporters, the
never-list, retouches, and the key files in that folder. It contains every report that
was accepted before the command. Mail and reports continue meanwhile. Only root and the
daemon's user may run it.

backup verifies the tar before FILE appears: it restores the tar into a temporary
folder beside FILE and checks each file as a start would. This needs the same space
again for a while. An existing FILE is replaced if it is a backup, or empty. Any other
file, and a FILE in the state folder, is refused. With - the tar goes to standard output,
and is checked only when it is restored.

FILE contains secret keys and the names of reporters: protect it like the state folder.
contrib/backup.md explains how to return to yesterday's state, and how to move, rename
and remove a site.

Exit codes:
  0   the backup is written and complete` + verb.UsageCode + `
  65  the data from the daemon, or read back from the disk, is damaged
  73  FILE cannot be written, or must not be replaced` + verb.DaemonCodes + `
  130 interrupted by SIGINT; FILE is unchanged`,
		Example: `  spambloom backup /var/backups/spambloom.tar
  spambloom backup - | ssh root@mx2 spambloomd --restore - --data /var/lib/spambloom`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("backup requires one FILE, or - for standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			var err error
			if args[0] == "-" {
				err = streamBackup(ctx, c)
			} else {
				err = saveBackup(ctx, c, args[0])
			}
			if ctx.Err() != nil {
				return verb.Exit(verb.Interrupted)
			}
			return err
		},
	}
}

// streamBackup writes a backup to standard output.
func streamBackup(ctx context.Context, c *verb.CLI) error {
	if verb.IsTerminal(c.Out) {
		return verb.UsageError(errors.New("a backup is binary: write it to a file, or pipe it"))
	}
	return fetchBackup(ctx, c, c.Out, verb.OutputError)
}

// saveBackup writes a backup to a file. It replaces an existing file only after checking
// the new one.
func saveBackup(ctx context.Context, c *verb.CLI, path string) error {
	if err := backup.MayReplace(path); err != nil {
		return &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	defer f.Cleanup()
	if err := fetchBackup(ctx, c, f, func(err error) error { return &verb.Fault{Code: verb.CantCreate, Err: err} }); err != nil {
		return err
	}
	sum, err := readBack(ctx, f.File, dir)
	if err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	if err := folder.Sync(dir); err != nil {
		return &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	return c.Print(sum.String())
}

// fetchBackup fetches a backup from the daemon and writes it to w. failed marks errors
// of w.
func fetchBackup(ctx context.Context, c *verb.CLI, w io.Writer, failed func(error) error) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	out := &markedWriter{w: w, mark: failed}
	bar := byteProgress(c, "backed up")
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

// byteProgress shows the number of copied bytes on a terminal. Without an interval for the
// spinner the bar starts no goroutine: its own reads what Write changes.
func byteProgress(c *verb.CLI, what string) *progressbar.ProgressBar {
	out := c.Err
	if !verb.IsTerminal(out) {
		out = io.Discard
	}
	return progressbar.NewOptions64(-1, progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionClearOnFinish())
}

// readBack restores a written backup into a temporary folder, and checks all of it there.
func readBack(ctx context.Context, f *os.File, dir string) (sum backup.Summary, err error) {
	work, err := os.MkdirTemp(dir, ".backup-check-*")
	if err != nil {
		return sum, &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := f.Sync(); err != nil {
		return sum, &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return sum, &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	sum, err = backup.Read(&stoppable{ctx, f}, work)
	var path *fs.PathError
	if errors.As(err, &path) && !errors.Is(err, backup.ErrBackup) {
		return sum, &verb.Fault{Code: verb.CantCreate, Err: fmt.Errorf("check the backup: %w", err)}
	}
	if err != nil {
		return sum, &verb.Fault{Code: verb.Data, Err: err, Hint: "nothing was written; spambloom fsck checks the daemon's own files"}
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
