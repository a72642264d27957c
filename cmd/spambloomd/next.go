package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/spambloom/spambloom/cmd/internal/config"
)

// printNext prints the next commands for a user who starts the daemon by hand without a
// configuration. Each line works as printed, in the folder where the daemon was started. It
// prints nothing in a service.
func printNext(w io.Writer, s *settings) {
	if logged, err := journal.StdoutIsJournalStream(); s.file != "" || err == nil && logged {
		return
	}
	command := "spambloom"
	if dir := filepath.Dir(os.Args[0]); dir != "." {
		command = filepath.Join(dir, command)
	}
	message := "contrib/sample-spam.eml"
	if _, err := os.Stat(message); err != nil {
		message = "MESSAGE"
	}
	fmt.Fprintf(w, `
spambloomd is running without a configuration file.
Milter: %s. Redis: %s. State: %s.
Next, in another terminal and in this folder:

  %[4]s sign %[5]s
  %[4]s report --control %[6]s %[5]s
  %[4]s revoke --control %[6]s %[5]s
  %[4]s report --control %[6]s %[5]s
  %[4]s check --control %[6]s %[5]s
  %[4]s status --control %[6]s

`, strings.Join(s.Milter.Listen, ", "), cmp.Or(config.RedisShown(s.Redis.URL), "none"), s.data, command, message, s.Control.Listen)
}
