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

// printNext tells somebody who starts the daemon by hand without a configuration
// what to type next. Each line works as it stands, from the folder it was started
// in. In the journal of a service nobody types.
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
spambloomd serves without a configuration file.
Milter: %s. Redis: %s. State: %s.
In another terminal, in this folder, type next:

  %[4]s sign %[5]s
  %[4]s report --control %[6]s %[5]s
  %[4]s check --control %[6]s %[5]s
  %[4]s revoke --control %[6]s %[5]s
  %[4]s status --control %[6]s

`, strings.Join(s.Milter.Listen, ", "), cmp.Or(config.RedisShown(s.Redis.URL), "none"), s.data, command, message, s.Control.Listen)
}
