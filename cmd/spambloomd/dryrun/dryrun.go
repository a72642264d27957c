// Package dryrun is the flag -t: it finds what the start would refuse, and changes nothing. It
// owns as whom the start is tried. The checks belong to packages settings, state and sockets.
//
// Administrators run -t as root, but the daemon of the unit has a user of its own, who owns the
// state folder. Root therefore tries the start as that user, with the groups and the capabilities
// that the unit adds. The unit's other restrictions, such as ProtectSystem, are not seen.
package dryrun

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/sockets"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
)

// Run prints that the start would succeed, or returns its error. A daemon may be running. Passed
// are the names of the sockets that systemd holds for it.
func Run(s *settings.Settings, passed []string, stdout, stderr io.Writer) error {
	if err := state.Check(s); err != nil {
		return err
	}
	st, err := findStarter(s)
	if err != nil {
		return err
	}
	if err := st.checkFiles(s); err != nil {
		return err
	}
	if !settings.SocketsHanded() { // else systemd passes sockets to this process
		if err := sockets.Check(s, st.User, state.IsInUse(s), passed, st.made...); err != nil {
			return err
		}
	}
	for _, err := range s.Warnings() {
		fmt.Fprintf(stderr, "spambloomd: warning: %v\n", err)
	}
	memory, err := s.MostMemory()
	if err != nil {
		return err
	}
	disk, err := s.MostDisk()
	if err != nil {
		return err
	}
	text := cmp.Or(s.File, "the default configuration") + " is valid\n"
	for _, name := range passed {
		text += fmt.Sprintf("systemd listens: its socket %q replaces %s\n", name, sockets.KeyOf(name))
	}
	_, err = fmt.Fprintf(stdout, "%sat most %d MiB of memory and %d threads (in a unit: MemoryMax, TasksMax)\nat most %d MiB of disk in %s\n",
		text, memory>>20, s.MostTasks(), disk>>20, s.Data)
	return err
}

// starter is who starts the daemon, and in which folders the start makes sockets.
type starter struct {
	socket.User
	name string // of another user than this process
	made []string
}

func findStarter(s *settings.Settings) (*starter, error) {
	u, err := socket.Self()
	if err != nil {
		return nil, err
	}
	made := append(filepath.SplitList(os.Getenv("RUNTIME_DIRECTORY")), s.Data) // by systemd, and by the daemon
	st := &starter{User: u, made: made}
	if owner, ok := otherOwner(s.Data); ok {
		st.name = owner.Username
		unit := showUnit(st.name)
		if st.User, err = unit.as(owner); err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(unit["RuntimeDirectory"]) {
			st.made = append(st.made, filepath.Join("/run", name))
		}
	}
	return st, nil
}

// checkFiles checks that the other user may read the usual configuration, and the files that the
// configuration names. The kernel decides: a mode does not show access lists.
func (st *starter) checkFiles(s *settings.Settings) error {
	if st.UID == os.Geteuid() {
		return nil // it has read them
	}
	files := s.KeyFiles()
	if s.File == config.DefaultPath {
		files = append(files, s.File)
	}
	as := syscall.Credential{Uid: uint32(st.UID)}
	for i, gid := range st.Groups { // the first one is the user's own
		if i == 0 {
			as.Gid = uint32(gid)
		}
		as.Groups = append(as.Groups, uint32(gid))
	}
	var errs []error
	for _, path := range files {
		if _, err := os.Stat(path); err != nil {
			continue // the start makes it, or state.Check has refused
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		test := exec.Command("test", "-r", path)
		test.Dir, test.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &as}
		var refused *exec.ExitError
		if errors.As(test.Run(), &refused) {
			errs = append(errs, &exit.Failure{Code: exit.NoPerm, Err: fmt.Errorf("the user %s, who starts the daemon, cannot read %s: %w", st.name, path, fs.ErrPermission)})
		}
	}
	return errors.Join(errs...)
}

// Passed returns the names of the sockets that systemd holds for the daemon's unit, if the state
// folder is that of the unit: it belongs to the unit's user. systemd passes them to the start.
func Passed(dir string) (names []string) {
	owner, ok := ownerOf(dir)
	if !ok {
		return nil
	}
	for unit := range strings.FieldsSeq(showUnit(owner.Username)["TriggeredBy"]) {
		if !strings.HasSuffix(unit, ".socket") {
			continue
		}
		if p := show(unit, "ActiveState,FileDescriptorName"); p["ActiveState"] == "active" {
			names = append(names, cmp.Or(p["FileDescriptorName"], unit))
		}
	}
	return names
}

// otherOwner returns the owner of the state folder, if this is root and the owner is not.
func otherOwner(dir string) (*user.User, bool) {
	owner, ok := ownerOf(dir)
	return owner, ok && os.Geteuid() == 0 && owner.Uid != "0"
}

func ownerOf(dir string) (*user.User, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, false
	}
	owner, err := user.LookupId(strconv.Itoa(int(stat.Uid)))
	return owner, err == nil
}

// properties are those of a unit.
type properties map[string]string

// showUnit asks systemd for the daemon's unit. There are none without systemd, without the unit,
// and if the unit runs as another user.
func showUnit(name string) properties {
	p := show("spambloom.service", "User,SupplementaryGroups,AmbientCapabilities,RuntimeDirectory,TriggeredBy")
	if p["User"] != name {
		return nil
	}
	return p
}

func show(unit, names string) properties {
	out, err := exec.Command("systemctl", "show", "--property="+names, unit).Output()
	if err != nil {
		return nil
	}
	p := make(properties)
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		p[key] = value
	}
	return p
}

// as returns the user whose name the unit has, with what the unit adds.
func (p properties) as(owner *user.User) (socket.User, error) {
	u := socket.User{BindsAll: slices.Contains(strings.Fields(p["AmbientCapabilities"]), "cap_net_bind_service")}
	groups, err := owner.GroupIds()
	if err != nil {
		return u, fmt.Errorf("groups of %s: %w", owner.Username, err)
	}
	if u.UID, err = strconv.Atoi(owner.Uid); err != nil {
		return u, err
	}
	for _, name := range append(groups, strings.Fields(p["SupplementaryGroups"])...) {
		gid, err := socket.LookupGroup(name)
		if err != nil {
			return u, err
		}
		u.Groups = append(u.Groups, gid)
	}
	return u, nil
}
