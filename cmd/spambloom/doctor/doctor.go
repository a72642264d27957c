// Package doctor is the verb doctor, which checks what surrounds the daemon: its keys, the
// mail server's milters, Redis, the other sites, memory and disk.
//
// It owns the checks and their sentences, and changes nothing. It asks the daemon for the state
// of the daemon. Damaged files are the business of fsck.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/overview"
)

const help = `doctor checks what surrounds the daemon, and changes nothing.

It prints one line for each check: OK, or WARNING with the consequence, and the command
or setting that mends it. The checks are

  config    the configuration is valid, and the daemon's user can read the keys
  daemon    the daemon answers, judges mail, and writes reports
  clock     the clock is synchronised, and the daemon trusts it
  milter    Postfix or Sendmail asks the daemon first, can open its socket, delivers mail
            while the daemon is away, and takes no more sessions than the daemon
  redis     Redis is reached, with the necessary rights, and keeps its data
  sites     the other sites have the same key and parameters, and votes can list messages
  disk      the state folder has room for what the configuration allows
  memory    the machine has the memory that the daemon may use

While the daemon is stopped, what follows from that alone is not checked. Run it as root:
otherwise some checks are skipped, which it says.

Exit codes:
  0   all checks are OK, or were skipped
  1   there is a warning
  64  wrong usage
  74  the results cannot be written`

// Options are the flags.
type Options struct {
	verb.Place
	Postfix  string // folder with main.cf; "": the usual one
	Sendmail string // folder with sendmail.cf
	JSON     bool
}

// Command returns the verb. Dial connects to the daemon.
func Command(streams verb.Streams, dial func() (*client.Client, error)) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "check the mail server, Redis, keys, memory and disk around the daemon",
		Long:    help,
		Example: "  spambloom doctor\n  spambloom doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), streams, dial, o)
		},
	}
	o.AddFlags(cmd)
	cmd.Flags().StringVar(&o.Postfix, "postfix", "", "`FOLDER` with the main.cf of the Postfix instance")
	cmd.Flags().StringVar(&o.Sendmail, "sendmail", mta.SendmailFolder, "`FOLDER` with sendmail.cf")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object per line and check: check, state, text, command")
	return cmd
}

func run(ctx context.Context, streams verb.Streams, dial func() (*client.Client, error), o Options) error {
	findings := Examine(ctx, dial, o)
	if err := finding.Print(streams, findings, o.JSON); err != nil {
		return err
	}
	return finding.Warned(findings)
}

// patient is a site that is being examined.
type patient struct {
	Options
	config *config.Config
	state  string
	status *api.Status // nil: the daemon does not answer
	isDown bool        // no daemon listens; what follows from that alone is not a finding
	sites  *api.SiteList
	facts  facts
}

// facts are the daemon's own facts of its status that the checks use.
type facts struct {
	Milter   []string        `json:"milter"`
	Fault    string          `json:"fault"`
	Exchange json.RawMessage `json:"exchange"` // empty: the daemon has no redis.url
}

// Examine makes all checks.
func Examine(ctx context.Context, dial func() (*client.Client, error), o Options) (results []finding.Finding) {
	p := &patient{Options: o, state: o.State()}
	var err error
	p.config, err = config.Load(o.Config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.config = config.Default()
		results = append(results, finding.Good("config", "%s does not exist; the defaults are in use", o.Config))
	case errors.Is(err, fs.ErrPermission):
		return []finding.Finding{finding.Skip("config", "%v; run doctor as root", err)}
	case err != nil:
		return []finding.Finding{finding.Fault("config", "edit "+o.Config+", then spambloomd -t", "the daemon will not start: %v", err)}
	default:
		results = append(results, finding.Good("config", "%s is valid", o.Config))
	}
	results = append(append(results, p.keys()...), p.password()...)
	if err := p.config.Environment(); err != nil { // as in a container, where the daemon has the same
		return append(results, finding.Fault("config", "correct it where the container is started", "the daemon will not start: %v", err))
	}
	results = append(results, p.daemon(ctx, dial)...)
	results = append(results, p.clock()...)
	results = append(results, p.milters(mta.Read(ctx, o.Postfix, o.Sendmail))...)
	results = append(results, p.redis(ctx)...)
	results = append(results, p.federation()...)
	if p.isDown {
		return results
	}
	return append(results, p.disk(), p.memory())
}

// password checks that nobody but the daemon reads the password of Redis.
func (p *patient) password() []finding.Finding {
	url := p.config.Redis.URL
	info, err := os.Stat(p.Options.Config)
	if err != nil || info.Mode()&0o004 == 0 || config.RedisShown(url) == url {
		return nil
	}
	return []finding.Finding{finding.Bad("config", fmt.Sprintf("chgrp --reference=%s %s && chmod 640 %[2]s", p.state, p.Options.Config),
		"every user of this machine can read the password of Redis in %s", p.Options.Config)}
}

// daemon asks the daemon for its status.
func (p *patient) daemon(ctx context.Context, dial func() (*client.Client, error)) []finding.Finding {
	c, err := dial()
	if errors.Is(err, fs.ErrPermission) {
		return []finding.Finding{finding.Skip("daemon", "this user may not ask the daemon; run doctor as root")}
	}
	if err != nil {
		p.isDown = true
		return []finding.Finding{finding.Fault("daemon", "spambloomd -t && systemctl start spambloom", "mail is not judged: %v", err)}
	}
	defer c.Close()
	status, err := client.Get(ctx, c, v1.Status)
	if err != nil {
		return []finding.Finding{finding.Fault("daemon", "systemctl status spambloom", "the daemon does not answer, so mail is not judged: %v", err)}
	}
	p.status = &status
	if err := json.Unmarshal(status.Daemon, &p.facts); err != nil && len(status.Daemon) > 0 {
		return []finding.Finding{finding.Bad("daemon", "compare spambloom version with spambloom status", "the daemon's answer cannot be read: %v", err)}
	}
	if sites, err := client.Get(ctx, c, v1.Sites); err == nil {
		p.sites = &sites
	}
	if status.Overview == nil {
		return []finding.Finding{finding.Good("daemon", "version %s answers", status.Version)}
	}
	var results []finding.Finding
	for _, need := range status.Overview.Needs {
		result := finding.Bad("daemon", need.Command, "%s", need.Text)
		result.IsFault = need.IsFault
		results = append(results, result)
	}
	if len(results) == 0 {
		results = append(results, finding.Good("daemon", "%s", strings.TrimSuffix(status.Overview.Sentence, " "+overview.NoNeed)))
	}
	return results
}

// keys checks that the daemon's user, which owns the state folder, can read the keys, and
// nobody else.
func (p *patient) keys() (results []finding.Finding) {
	uid, isKnown := ownerOf(p.state)
	files := p.config.Files(p.state)
	for _, path := range []string{files.Federation, files.Previous, files.Signing} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		switch owner, _ := ownerOf(path); {
		case errors.Is(err, fs.ErrNotExist):
			results = append(results, finding.Skip("config", "%s does not exist; the first start makes it", path))
		case err != nil:
			results = append(results, finding.Skip("config", "%v; run doctor as root", err))
		case info.Mode().Perm()&0o077 != 0:
			results = append(results, finding.Bad("config", "chmod 600 "+path, "other users can read the key %s, so the daemon will not start", path))
		case isKnown && owner != uid:
			results = append(results, finding.Bad("config", fmt.Sprintf("chown --reference=%s %s", p.state, path), "the key %s belongs to another user than the state folder, so the daemon cannot read it", path))
		}
	}
	if len(results) == 0 {
		results = append(results, finding.Good("config", "the keys in %s are readable for the daemon only", filepath.Dir(files.Signing)))
	}
	return results
}
