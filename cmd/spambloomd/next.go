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
	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
)

// greet prints five lines for a user who starts the daemon by hand: where it listens, where
// its page is, and what differs from the defaults. Without a configuration it also prints the
// next commands; each works as printed, in the folder where the daemon was started. It prints
// nothing in a service, whose log has the same. hasPage is false if nothing is served at http.listen.
func greet(w io.Writer, s *settings.Settings, hasPage bool) {
	if logged, err := journal.StdoutIsJournalStream(); err == nil && logged {
		return
	}
	command := "spambloom"
	if dir := filepath.Dir(os.Args[0]); dir != "." {
		command = filepath.Join(dir, command)
	}
	page := "none"
	if hasPage {
		page = "http://" + s.HTTP.Listen + "/"
	}
	fmt.Fprintf(w, `
spambloomd %s is running as the site %s.
Milter: %s. Redis: %s. State: %s.
Page: %s. To sign in: %s web --control %s
Different from the defaults: %s.
Configuration: %s. All values: spambloomd --print-config
`, version.String(), s.Name, strings.Join(s.Milter.Listen, ", "), cmp.Or(config.RedisShown(s.Redis.URL), "none"), s.Data,
		page, command, s.Control.Listen, different(s.Config), cmp.Or(s.File, "none"))
	if s.File == "" {
		printNext(w, command, s.Control.Listen)
	}
	fmt.Fprintln(w)
}

// different returns the names of the keys that differ from the defaults.
func different(c *config.Config) string {
	var names []string
	for _, a := range c.Different() {
		names = append(names, a.Key)
	}
	return cmp.Or(strings.Join(names, ", "), "nothing")
}

// printNext prints the commands that show a spam being recognised.
func printNext(w io.Writer, command, control string) {
	message := "contrib/sample-spam.eml"
	if _, err := os.Stat(message); err != nil {
		message = "MESSAGE"
	}
	fmt.Fprintf(w, `
Next, in another terminal and in this folder:

  %[1]s sign %[2]s
  %[1]s report --control %[3]s %[2]s
  %[1]s revoke --control %[3]s %[2]s
  %[1]s report --control %[3]s %[2]s
  %[1]s check --control %[3]s %[2]s
  %[1]s status --control %[3]s
`, command, message, control)
}

// printConfig prints the result of --print-config: every key with the value that the daemon
// would use, without passwords.
func printConfig(w io.Writer, s *settings.Settings) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", cmp.Or(s.File, "the default configuration"))
	for _, a := range s.Effective() {
		fmt.Fprintf(&b, "%s = %s\n", a.Key, a.Value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
