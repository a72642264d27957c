// Package setup is the verb setup, which connects the daemon with the mail server of this
// machine, and tries it with a mail.
//
//	machine   what is installed: mail server, rspamd, SpamAssassin, Dovecot, the daemon
//	plan      steps that connect them, or take that back: files, folders, commands
//	trial     a mail through the mail server, reported and revoked
//	doctor    the checks of spambloom doctor, at the end
//
// It owns the changes that it makes to other programs' files. It does not install programs,
// does not change mailboxes, and leaves what an administrator configured as it is.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/doctor"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/client"
)

const help = `setup connects the daemon with the mail server of this machine, and tries it.

Without --yes it changes nothing, and prints what it would change:

  Postfix or Sendmail   asks the daemon first, on a unix socket, and delivers mail
                        while the daemon is away
  the daemon            listens on that socket
  rspamd, SpamAssassin  give its verdict a score (contrib/beside.md)

With --yes it makes these changes, and restarts or reloads the programs. If a program
refuses its new file, the old one is restored. Then setup sends a mail through the mail
server, reports it, sends it again, and revokes the report. It sends from an address of
this machine that is not in milter.local_networks, because mail from there is not
judged. The two mails are delivered to --to; --trial=false sends none. At the end it
makes the checks of spambloom doctor.

Doing the same again changes nothing, and only tries and checks. A mail server that asks
the daemon over TCP goes on doing that. --remove takes the changes back. It is refused
while the mail server has an entry for the daemon that setup did not write. Dovecot is
detected and not changed: contrib/mailbox.md describes how users report by moving mail.

"setup runs" begins a command that --yes runs, "by hand" what it leaves to you. Each
check has one line: OK, or WARNING with the consequence, and the command that mends it.
Run setup as root.

Exit codes:
  0   the changes were made, or shown, or none was necessary; there may be warnings about
      other things than the judging of mail, such as the clock
  1   mail is not judged, or not as it should be, or that could not be tried: see the
      warnings
  64  wrong usage
  65  a file has a form that setup does not change
  66  a file cannot be read, or there is no mail server
  69  a program refused its new configuration, which was taken back, or failed
  73  a file cannot be written
  74  the results cannot be written
  77  no permission`

// Options are the flags.
type Options struct {
	verb.Place
	Postfix  string // folder with main.cf; "": the usual one
	Sendmail string // folder with sendmail.mc
	Restart  string // command that restarts the daemon; "": by systemd
	Reload   string // command that reloads the mail server; "": the usual one
	Server   string // address of the mail server; "": port 25 of this machine
	To       string // recipient of the trial
	Mailbox  string // Maildir or file with the recipient's mail; "": files in /var/mail

	Rspamd, SpamAssassin string // folders with their configuration

	Trial, Yes, Remove bool
}

// Command returns the verb. Dial connects to the daemon.
func Command(streams verb.Streams, dial func() (*client.Client, error)) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "setup",
		Short:   "connect the daemon with Postfix or Sendmail, and try it with a mail",
		Long:    help,
		Example: "  spambloom setup             show what would be changed\n  spambloom setup --yes       do it, and send a mail to postmaster\n  spambloom setup --remove --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), streams, dial, o)
		},
	}
	o.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Postfix, "postfix", "", "`FOLDER` with the main.cf of the Postfix instance")
	f.StringVar(&o.Sendmail, "sendmail", mta.SendmailFolder, "`FOLDER` with sendmail.mc and its Makefile")
	f.StringVar(&o.Rspamd, "rspamd", "/etc/rspamd/local.d", "`FOLDER` with rspamd's local settings")
	f.StringVar(&o.SpamAssassin, "spamassassin", "/etc/spamassassin", "`FOLDER` with SpamAssassin's local rules")
	f.StringVar(&o.Restart, "restart", "", "`COMMAND` that restarts the daemon (default: by systemd)")
	f.StringVar(&o.Reload, "reload", "", "`COMMAND` that reloads the mail server (default: postfix reload, or a restart of sendmail)")
	f.StringVar(&o.Server, "server", "", "`HOST:PORT` of the mail server for the trial (default: port 25 of this machine)")
	f.StringVar(&o.To, "to", "postmaster", "`ADDRESS` that the mails of the trial are sent to")
	f.StringVar(&o.Mailbox, "mailbox", "", "Maildir or mbox of that address, `PATH`, in which the mails are looked up (default: files in /var/mail)")
	f.BoolVar(&o.Trial, "trial", true, "send two mails after the changes")
	f.BoolVar(&o.Yes, "yes", false, "make the changes, without asking")
	f.BoolVar(&o.Remove, "remove", false, "take the changes back")
	return cmd
}

func run(ctx context.Context, streams verb.Streams, dial func() (*client.Client, error), o Options) error {
	m, err := look(ctx, o)
	if err != nil {
		return err
	}
	p, err := m.plan(ctx)
	if err != nil {
		return err
	}
	if err := streams.Print(m.summary() + p.String()); err != nil {
		return err
	}
	switch {
	case len(p) > 0 && !o.Yes:
		streams.Note("hint", "nothing was changed; to do this, add --yes")
		return nil
	case o.Remove:
		return p.carryOut(ctx, streams)
	}
	if err := p.carryOut(ctx, streams); err != nil {
		return err
	}
	findings := m.notes()
	if o.Yes && o.Trial {
		findings = append(findings, m.try(ctx, dial)...)
	}
	findings = append(findings, doctor.Examine(ctx, dial, doctor.Options{Place: o.Place, Postfix: o.Postfix, Sendmail: o.Sendmail})...)
	if err := finding.Print(streams, findings, false); err != nil {
		return err
	}
	return finding.Failed(findings)
}

// settled bounds how long a restarted program may take until it answers.
const settled = 30 * time.Second

// eventually calls ask until it returns nil, each quarter of a second, and returns its last
// error after the bound.
func eventually(ctx context.Context, bound time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// fault returns the error of a file with its exit code.
func fault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		return &verb.Fault{Code: verb.NoPerm, Err: err, Hint: "run it as root"}
	case errors.Is(err, os.ErrNotExist):
		return &verb.Fault{Code: verb.NoInput, Err: err}
	}
	return &verb.Fault{Code: verb.Data, Err: err}
}

// invalid returns an error about the form of a file.
func invalid(hint, format string, args ...any) error {
	return &verb.Fault{Code: verb.Data, Err: fmt.Errorf(format, args...), Hint: hint}
}
