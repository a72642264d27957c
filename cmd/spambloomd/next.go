package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// printNext tells somebody who starts the daemon without a configuration what
// to type next. Each line works as it stands, from the folder it was started in.
func printNext(w io.Writer, s *settings) {
	command := "spambloom"
	if dir := filepath.Dir(os.Args[0]); dir != "." {
		command = filepath.Join(dir, command)
	}
	message := "contrib/sample-spam.eml"
	if _, err := os.Stat(message); err != nil {
		message = "MESSAGE"
	}
	fmt.Fprintf(w, `
spambloomd serves with its defaults: milter on %s, no Redis, state in %s.
In another terminal, in this folder, type next:

  %[3]s sign %[4]s
  %[3]s report --control %[5]s %[4]s
  %[3]s check --control %[5]s %[4]s

`, cmp.Or(s.Milter.Listen...), s.data, command, message, s.Control.Listen)
}
