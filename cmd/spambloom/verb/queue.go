package verb

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// QueueFolder returns the folder of the queue: $SPAMBLOOM_QUEUE, or one in the user's
// state folder. A system user has one queue however the program is started: by
// Dovecot, which sets HOME to a virtual user's folder or leaves it unset, by Postfix'
// pipe(8), and by cron, which flushes the queue. The home folder of the system account
// therefore takes precedence over HOME. Users without a home folder, such as services,
// have their queue below serviceQueues.
func QueueFolder() (string, error) {
	if dir := os.Getenv("SPAMBLOOM_QUEUE"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", UsageError(fmt.Errorf("SPAMBLOOM_QUEUE=%.200s: want an absolute path", dir))
		}
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "spambloom", "queue"), nil
	}
	homes := []string{os.Getenv("HOME")}
	if u, err := user.Current(); err == nil {
		homes = []string{u.HomeDir, homes[0]}
	}
	return folderIn(homes...), nil
}

// serviceQueues contains the queues of users without a home folder. contrib/spambloom.tmpfiles
// makes it. /var/tmp is no place for them: systemd gives services their own, which ends with
// the service, and deletes old files there.
const serviceQueues = "/var/spool/spambloom"

// folderIn returns the queue's folder in the first home that belongs to the user.
func folderIn(homes ...string) string {
	for _, home := range homes {
		if isOwnFolder(home) {
			return filepath.Join(home, ".local", "state", "spambloom", "queue")
		}
	}
	return serviceQueue(serviceQueues)
}

// serviceQueue returns the user's folder in dir, which is named by the user's number. Other users of
// the group may make folders there, too. Where one of them has taken the name, it has a suffix.
func serviceQueue(dir string) string {
	name := filepath.Join(dir, strconv.Itoa(os.Geteuid()))
	taken := make(map[string]bool)
	if entries, err := os.ReadDir(dir); err == nil {
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if path != name && !strings.HasPrefix(path, name+".") {
				continue
			}
			if info, err := os.Lstat(path); err == nil && info.IsDir() && isOwn(info) {
				return path
			}
			taken[path] = true
		}
	}
	free := name
	for i := 1; taken[free]; i++ {
		free = name + "." + strconv.Itoa(i)
	}
	return free
}

// isOwnFolder reports whether a folder exists and belongs to the user.
func isOwnFolder(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && isOwn(info)
}

func isOwn(info fs.FileInfo) bool {
	own, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(own.Uid) == os.Geteuid()
}
