// Command firstmail shows a newcomer one mail being tagged. It belongs to `make run` and is
// not installed.
//
//	firstmail MILTER SPAMBLOOM CONTROL MESSAGE
//
// It waits for the daemon that its parent becomes, hands the message to the daemon's milter as
// Postfix would, and prints the header that the daemon adds. Then it reports the message with
// the command, hands it over again, and revokes the report.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: firstmail MILTER SPAMBLOOM CONTROL MESSAGE")
		os.Exit(2)
	}
	parent := os.Getppid()
	isRunning := func() bool { return os.Getppid() == parent }
	if !awaitDaemon(ctx, isRunning, os.Args[3]) {
		return // the daemon's error is on the screen
	}
	if err := show(ctx, os.Stdout, os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintf(os.Stderr, "firstmail: %v\n", err)
		os.Exit(1)
	}
}

// awaitDaemon waits until the control socket answers, and reports whether it does. Only one
// daemon has the state folder, so that the daemon of an installation with the same milter
// address receives no mail from here.
func awaitDaemon(ctx context.Context, isRunning func() bool, control string) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for isRunning() {
		conn, err := net.Dial("unix", strings.TrimPrefix(control, "unix:"))
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// show prints what happens to the message before and after it is reported.
func show(ctx context.Context, out io.Writer, milter, command, control, message string) error {
	mail, err := os.ReadFile(message)
	if err != nil {
		return err
	}
	before, err := header(milter, mail)
	if err != nil {
		return err
	}
	report, err := call(ctx, command, "report", control, message)
	if err != nil {
		return err
	}
	after, err := header(milter, mail)
	if err != nil {
		return err
	}
	revoke, err := call(ctx, command, "revoke", control, message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `
One mail being tagged: %s, handed over as Postfix does.

%s
$ %s%s
$ %s
`, message, before, report, after, revoke)
	return err
}

// header hands a mail to the milter, and returns the header that it adds.
func header(milter string, mail []byte) (line string, err error) {
	conn, err := harness.DialMilter("tcp", milter, "192.0.2.1") // mail from a local network is not judged
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.Begin(harness.NewParcel(mail)); err != nil {
		return "", fmt.Errorf("milter %s: %w", milter, err)
	}
	_, added, err := conn.End()
	if err != nil {
		return "", fmt.Errorf("milter %s: %w", milter, err)
	}
	for _, field := range added {
		name, value, _ := strings.Cut(field, "\x00")
		if name == "X-Spambloom" {
			return name + ": " + strings.TrimSpace(value), nil
		}
	}
	return "", errors.New("the milter " + milter + " added no header X-Spambloom")
}

// call runs the command, and returns its line and its output.
func call(ctx context.Context, command, verb, control, message string) (text string, err error) {
	args := []string{verb, "--control", control, message}
	out, err := exec.CommandContext(ctx, command, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", command, strings.Join(args, " "), err, out)
	}
	return fmt.Sprintf("%s %s\n%s", command, strings.Join(args, " "), out), nil
}
