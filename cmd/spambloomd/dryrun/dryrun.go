// Package dryrun is the flag -t: it finds what the start would refuse, and changes nothing. It
// owns as whom the start is tried. The checks belong to packages settings, state and sockets.
//
// Administrators run -t as root, but the daemon of the unit has a user of its own, who owns the
// state folder. Root therefore tries the start as that user, with the groups and the capabilities
// that the unit adds. The unit's other restrictions, such as ProtectSystem, are not seen.
package dryrun

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/sockets"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
)

// Run prints that the start would succeed, or returns its error. A daemon may be running.
func Run(s *settings.Settings, stdout, stderr io.Writer) error {
	if err := state.Check(s); err != nil {
		return err
	}
	if err := checkSockets(s); err != nil {
		return err
	}
	for _, err := range s.Skipped {
		fmt.Fprintf(stderr, "spambloomd: warning: %v\n", err)
	}
	memory, err := s.MostMemory()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is valid\nat most %d MiB of memory and %d threads (in a unit: MemoryMax, TasksMax)\n",
		cmp.Or(s.File, "the default configuration"), memory>>20, s.MostTasks())
	return err
}

// checkSockets checks the addresses, unless systemd passes them.
func checkSockets(s *settings.Settings) error {
	if settings.SocketsHanded() {
		return nil
	}
	u, err := socket.Self()
	if err != nil {
		return err
	}
	made := append(filepath.SplitList(os.Getenv("RUNTIME_DIRECTORY")), s.Data) // by systemd, and by the daemon
	if owner, ok := otherOwner(s.Data); ok {
		unit := showUnit(owner.Username)
		if u, err = unit.as(owner); err != nil {
			return err
		}
		for _, name := range strings.Fields(unit["RuntimeDirectory"]) {
			made = append(made, filepath.Join("/run", name))
		}
	}
	return sockets.Check(s, u, state.IsInUse(s), made...)
}

// otherOwner returns the owner of the state folder, if this is root and the owner is not.
func otherOwner(dir string) (*user.User, bool) {
	info, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
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
	out, err := exec.Command("systemctl", "show", "--property=User,SupplementaryGroups,AmbientCapabilities,RuntimeDirectory", "spambloom.service").Output()
	if err != nil {
		return nil
	}
	p := make(properties)
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		p[key] = value
	}
	if p["User"] != name {
		return nil
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
