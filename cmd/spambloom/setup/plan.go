package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// plan is the list of steps, in their order.
type plan []step

// step is one change. Doing it again after a failure is safe.
type step struct {
	text string // what is shown
	do   func(context.Context) error
}

func (p plan) String() string {
	if len(p) == 0 {
		return "Nothing to change.\n"
	}
	text := ""
	for _, s := range p {
		text += s.text + "\n"
	}
	return strings.ReplaceAll(text, "\n\n", "\n")
}

// carryOut does the steps. After a failure it names those that were not done.
func (p plan) carryOut(ctx context.Context, streams verb.Streams) error {
	for i, s := range p {
		if err := s.do(ctx); err != nil {
			for _, left := range p[i+1:] {
				first, _, _ := strings.Cut(left.text, "\n")
				streams.Note("warning", "not done: "+first)
			}
			return err
		}
	}
	return nil
}

// plan returns the steps. The daemon listens before the mail server asks it, and is asked no
// more before it stops listening.
func (m *machine) plan(ctx context.Context) (p plan, err error) {
	daemon, err := m.daemonSteps()
	if err != nil {
		return nil, err
	}
	filters, err := m.filterSteps()
	if err != nil {
		return nil, err
	}
	server, err := m.serverSteps()
	if err != nil {
		return nil, err
	}
	if m.Remove {
		return append(append(server, filters...), daemon...), nil
	}
	if len(server) > 0 && !m.file.IsChanged() && !m.isListening(ctx) {
		daemon = append(daemon, m.restart()) // an earlier setup ended before its restart
	}
	return append(append(daemon, filters...), server...), nil
}

// daemonSteps make the daemon listen for the mail server.
func (m *machine) daemonSteps() (p plan, err error) {
	listen, isSet := m.listen()
	folder, err := m.folder(listen)
	if err != nil {
		return nil, err
	}
	if folder == nil { // TCP, which an administrator configured
		return nil, nil
	}
	if !m.Remove && !folder.isThere() {
		p = append(p, step{folder.String(), func(context.Context) error { return folder.make() }})
	}
	if m.Remove == isSet && m.file != nil {
		changes := m.listenChanges(listen, folder.group)
		text, err := config.Edit(m.file.Path, string(m.file.Old), changes, nil)
		if err != nil {
			return nil, fault(err)
		}
		m.file.New = []byte(text)
		if m.file.IsChanged() {
			m.file.OwnLike(m.State())
			p = append(p, m.write(m.file, "spambloomd", "-t", "-c", m.file.Path), m.restart())
		}
	}
	if m.Remove && folder.group != "" && folder.isThere() {
		p = append(p, step{"remove " + folder.path, func(context.Context) error { return folder.remove() }})
	}
	return p, nil
}

// isListening reports whether somebody accepts connections at the daemon's address.
func (m *machine) isListening(ctx context.Context) bool {
	listen, _ := m.listen()
	network, address, err := socket.Parse(listen)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// listenChanges sets, or removes, the keys of the daemon's socket. Keys with other values are
// an administrator's, and remain.
func (m *machine) listenChanges(listen, group string) (changes []config.Change) {
	if !m.Remove {
		changes = append(changes, config.Change{Key: "milter.listen", Value: []any{listen}})
		if group != "" {
			changes = append(changes, config.Change{Key: "milter.group", Value: group})
		}
		return changes
	}
	if preferred := m.config.Milter.Listen; len(preferred) != 1 || preferred[0] != listen {
		return nil
	}
	changes = append(changes, config.Change{Key: "milter.listen"})
	if group != "" && m.config.Milter.Group == group {
		changes = append(changes, config.Change{Key: "milter.group"})
	}
	return changes
}

// write replaces a file. If check, a program with its arguments, refuses the new one, the old
// one is restored.
func (m *machine) write(f *change.File, check ...string) step {
	return step{strings.TrimSuffix(f.Diff(config.WithoutURL), "\n"), func(ctx context.Context) error {
		if err := store(f); err != nil {
			return err
		}
		if len(check) == 0 {
			return nil
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			return nil // the program is elsewhere; its reload shows what is wrong
		}
		err := execute(ctx, check...)
		if err == nil {
			return nil
		}
		return &verb.Fault{Code: verb.Unavailable, Err: fmt.Errorf("%s was restored: %w", f.Path, errors.Join(err, restore(f)))}
	}}
}

// store writes a file, or removes one that is to be empty.
func store(f *change.File) error {
	now, err := change.Read(f.Path)
	switch {
	case err != nil:
		return fault(err)
	case now.IsNew != f.IsNew || !bytes.Equal(now.Old, f.Old): // while earlier steps ran
		return invalid("run setup again", "%s was changed by another program", f.Path)
	}
	if len(f.New) == 0 && !f.IsNew {
		return fault(os.Remove(f.Path))
	}
	err = f.Write()
	if err == nil || errors.Is(err, fs.ErrPermission) {
		return fault(err)
	}
	return &verb.Fault{Code: verb.CantCreate, Err: err}
}

func restore(f *change.File) error {
	if f.IsNew {
		return os.Remove(f.Path)
	}
	f.New = f.Old
	return f.Write()
}

// command runs a program, or a line of the shell that the caller gave.
func command(text string, args ...string) step {
	return step{"setup runs: " + text, func(ctx context.Context) error {
		if err := execute(ctx, args...); err != nil {
			return &verb.Fault{Code: verb.Unavailable, Err: err, Hint: "correct that, then run setup again; or run this yourself: " + text}
		}
		return nil
	}}
}

func shell(line string) step { return command(line, "sh", "-c", line) }

// manual is a step that only the administrator can do.
func manual(text string) step {
	return step{"by hand: " + text, func(context.Context) error { return nil }}
}

// restart restarts the daemon, which takes a new address only then.
func (m *machine) restart() step {
	switch {
	case m.Restart != "":
		return shell(m.Restart)
	case m.hasSystemd:
		return command("systemctl restart spambloom", "systemctl", "restart", "spambloom")
	}
	return manual("restart the daemon, because systemd does not run here")
}

// patience bounds a program that setup runs.
const patience = 2 * time.Minute

// execute runs a program. The error contains the end of what it printed.
func execute(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second // a daemon that it starts may hold its output
	out, err := cmd.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-3):], "; "))
}

// folder is the folder of a socket.
type folder struct {
	path  string
	owner account
	group string // "": the owner's
	mode  fs.FileMode
}

func (f *folder) String() string {
	mode := fmt.Sprintf("%o", f.mode.Perm())
	if f.mode&fs.ModeSetgid != 0 {
		mode = "2" + mode
	}
	owner := f.owner.name
	if f.group != "" {
		owner += ":" + f.group
	}
	return fmt.Sprintf("new folder %s, %s, mode %s", f.path, owner, mode)
}

// isThere reports whether the folder exists. One that exists was made by systemd or by an
// administrator, and keeps its owner: doctor checks whether the mail server may enter it.
func (f *folder) isThere() bool { return isFolder(f.path) }

// make makes the folder under another name first: one that a killed setup left without its owner
// would be an administrator's for the next setup, and the daemon could not start with it.
func (f *folder) make() error {
	temp, err := os.MkdirTemp(filepath.Dir(f.path), ".spambloom-")
	if err != nil {
		return fault(err)
	}
	err = os.Chown(temp, f.owner.uid, f.owner.gid)
	if err == nil {
		err = os.Chmod(temp, f.mode)
	}
	if err == nil {
		err = os.Rename(temp, f.path)
	}
	if err != nil {
		return fault(errors.Join(err, os.Remove(temp)))
	}
	return nil
}

// remove removes the folder with a stale socket. Other files in it are an administrator's.
func (f *folder) remove() error {
	if err := os.Remove(filepath.Join(f.path, "milter.sock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault(err)
	}
	return fault(os.Remove(f.path))
}
