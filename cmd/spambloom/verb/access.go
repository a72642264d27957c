package verb

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// installedGroup is the group of the control socket where the package or contrib/install made it.
const installedGroup = "spambloom"

// accessHint names the command that lets this user open the control socket. The group of a
// socket in a folder that the user may not enter is unknown.
func accessHint(path string) string {
	group := groupOf(path)
	if _, err := user.LookupGroup(installedGroup); err == nil {
		group = cmp.Or(group, installedGroup)
	}
	if group == "" || group == "root" {
		return "run it as root, or name in [control] group, for the daemon, a group of the users who may report"
	}
	name := "USER"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("as root, run usermod --append --groups %s %s; then log in again, since a new group takes effect at the next login", group, name)
}

// groupOf returns the name of a file's group; "": unknown.
func groupOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	id := strconv.Itoa(int(owner.Gid))
	if g, err := user.LookupGroupId(id); err == nil {
		return g.Name
	}
	return id
}
