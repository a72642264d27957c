package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// queueFolder is where reports wait: $SPAMBLOOM_QUEUE, or in the folder for state of
// the user. A user of the system has one queue however the program is started: by
// Dovecot, which sets HOME to a virtual user's folder or to none, by Postfix' pipe(8),
// and by cron, which is to flush it. So the system's word on the home folder comes
// before HOME; and users who have none of their own, as services have none, keep
// their queue where temporary files outlive a restart.
func queueFolder() (string, error) {
	if dir := os.Getenv("SPAMBLOOM_QUEUE"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", &usageError{fmt.Errorf("SPAMBLOOM_QUEUE=%.200s: want an absolute path", dir)}
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

// folderIn is the queue's folder in the first home that is the user's own.
func folderIn(homes ...string) string {
	for _, home := range homes {
		if isOwnFolder(home) {
			return filepath.Join(home, ".local", "state", "spambloom", "queue")
		}
	}
	return filepath.Join("/var/tmp", "spambloom-queue-"+strconv.Itoa(os.Geteuid()))
}

// isOwnFolder tells whether a folder is there and belongs to the user.
func isOwnFolder(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	own, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(own.Uid) == os.Geteuid()
}
