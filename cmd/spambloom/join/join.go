package join

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

const joinHelp = `join makes this site a member of another site's federation.

Without a line, join prints a request. Send it to the administrator of a member, who
answers with the line that spambloom invite prints. Mail will do: nothing in either line
is secret. Send the fingerprint that join shows over another channel, such as the telephone.

With that line, join shows the fingerprint of the member, which spambloom invite has shown
there, and what it would change in the configuration, asks, and does it:
the federation key, redis.url, the values in [reports] that must be the same on all
sites, and the [[peer]] tables of the member and its peers. The change takes effect when
the daemon is restarted.

This site keeps its reports, and the other sites receive them, too. The key that it has used
becomes the previous one, and both are in use until the last report under the old one
expires (contrib/federation.md). The member may have run alone for any time, too, and the
order of the steps does not matter.

Given a line without the federation key, join checks it and prints a request. Doing the
same again changes nothing.

Exit codes:
  0   the site has joined, or the request is printed` + codes

type joinFlags struct {
	verb.Place
	redis, password, trust string
	yes                    bool
}

// Command returns the verb join.
func Command(streams verb.Streams) *cobra.Command {
	var flags joinFlags
	cmd := &cobra.Command{
		Use:   "join [INVITATION]",
		Short: "make this site a member of a federation",
		Long:  joinHelp,
		Example: `  spambloom join
  spambloom join spambloom-invitation-1:...`,
		RunE: func(_ *cobra.Command, args []string) error {
			return join(streams, strings.Join(args, ""), flags)
		},
	}
	flags.AddFlags(cmd)
	cmd.Flags().StringVar(&flags.redis, "redis", "", "`URL` by which this site reaches Redis, instead of that in the line; other users see a password in it, not that of --redis-password")
	cmd.Flags().StringVar(&flags.password, "redis-password", "", "`FILE` with the password of Redis, or - for standard input")
	cmd.Flags().StringVar(&flags.trust, "trust", "", "trust in the other sites, which adds [[peer]] tables for them: full, vote or none")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	return cmd
}

func join(streams verb.Streams, line string, flags joinFlags) error {
	if err := checkTrust(flags.trust); err != nil {
		return err
	}
	s, err := open(flags.Place)
	if err != nil {
		return err
	}
	if line == "" {
		return s.request(streams, "an administrator of the federation")
	}
	if invitation.IsRequest(line) {
		return &verb.Fault{Code: verb.Data, Err: errors.New("this line is the request of another site"), Hint: "to let that site join this one's federation, run spambloom invite with it"}
	}
	i, err := invitation.ParseInvitation(line)
	if err != nil {
		return &verb.Fault{Code: verb.Data, Err: err}
	}
	if _, err := s.newPeers(append(i.Peers, i.Peer), flags.trust); err != nil {
		return err
	}
	if i.For == nil {
		return s.request(streams, i.Name)
	}
	secret, err := s.unseal(i)
	if err != nil {
		return err
	}
	if i.Redis, err = flags.url(streams.In, i, secret); err != nil {
		return err
	}
	p, err := s.plan(i, secret.Key, flags.trust)
	if err != nil {
		return err
	}
	return s.carryOut(p, streams, i, flags.yes)
}

// unseal returns the secret of an invitation for this site.
func (s *site) unseal(i *invitation.Invitation) (invitation.Secret, error) {
	secret, err := i.Unseal(s.key)
	if err == nil && i.For.Name != s.name {
		err = invitation.ErrForOther // the member has a [[peer]] for the other name
	}
	switch {
	case errors.Is(err, invitation.ErrForOther):
		return secret, &verb.Fault{Code: verb.Data, Err: fmt.Errorf("%w: %s, fingerprint %s; this is %s, %s", err, i.For.Name, i.For.Fingerprint(), s.name, s.peer().Fingerprint()), Hint: "make a new request with spambloom join, or set site.name to that name"}
	case err != nil:
		return secret, &verb.Fault{Code: verb.Data, Err: err}
	}
	return secret, nil
}

// carryOut shows the changes, asks, and makes them.
func (s *site) carryOut(p *plan, streams verb.Streams, i *invitation.Invitation, yes bool) error {
	for _, w := range s.ignored(namesOf(i)...) {
		streams.Note("warning", w)
	}
	if p.isEmpty() {
		return streams.Print(fmt.Sprintf("%s: already a member of the federation %s; nothing to change\n", s.name, i.Federation))
	}
	if err := streams.Print(p.diff()); err != nil {
		return err
	}
	question := fmt.Sprintf("join the federation of %s, fingerprint %s (spambloom invite has shown it there)?", i.Name, i.Fingerprint())
	if err := streams.Confirm(question, yes); err != nil {
		return err
	}
	if yes {
		streams.Note("hint", fmt.Sprintf("the line is from %s; compare the fingerprint that invite has shown there: %s", i.Name, i.Fingerprint()))
	}
	if err := p.write(); err != nil {
		return err
	}
	for _, w := range p.warnings {
		streams.Note("warning", w)
	}
	if p.rollsOver {
		streams.Note("hint", "after the restart, the other sites receive the reports of this site too. They do not receive reports that it has from elsewhere, and counts; these stay here until they expire. Declare the messages of spambloom never --list again")
	}
	streams.Note("hint", "now run: "+restartHint(s.file.Path)+" && spambloom sites")
	return nil
}

// namesOf returns the names of the sites of an invitation.
func namesOf(i *invitation.Invitation) []string {
	names := []string{i.Name}
	for _, p := range i.Peers {
		names = append(names, p.Name)
	}
	return names
}

// request prints the request of this site.
func (s *site) request(streams verb.Streams, reader string) error {
	line, err := invitation.NewRequest(s.name, s.key)
	if err != nil {
		return &verb.Fault{Code: verb.Data, Err: err}
	}
	if err := streams.Print(line + "\n"); err != nil {
		return err
	}
	streams.Note("hint", fmt.Sprintf("send this line to %s, who runs spambloom invite with it; the fingerprint of %s is %s", reader, s.name, s.peer().Fingerprint()))
	return nil
}

// maxPassword bounds the file with the password, in bytes.
const maxPassword = 1024

// url returns the URL of Redis with its password.
func (f joinFlags) url(stdin io.Reader, i *invitation.Invitation, secret invitation.Secret) (string, error) {
	switch {
	case f.redis != "":
		return f.redis, nil
	case f.password != "":
		password, err := readPassword(stdin, f.password)
		if err != nil {
			return "", err
		}
		url, err := invitation.WithPassword(i.Redis, password)
		if err != nil {
			return "", &verb.Fault{Code: verb.Data, Err: err}
		}
		return url, nil
	case secret.Redis != "":
		return secret.Redis, nil
	case i.Missing:
		return "", &verb.Fault{Code: verb.Data, Err: fmt.Errorf("the line does not contain the password of Redis (%s)", i.Redis), Hint: "add --redis-password FILE, or ask for a line made by spambloom invite --with-password"}
	}
	return i.Redis, nil
}

func readPassword(stdin io.Reader, path string) (string, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fault(err)
		}
		defer f.Close()
		stdin = f
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxPassword+1))
	if err != nil {
		return "", fault(err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" || len(text) > maxPassword || strings.ContainsAny(password, "\r\n") {
		return "", invalid("the password of Redis must be one line of 1 to %d bytes", maxPassword)
	}
	return password, nil
}

// checkURL rejects a URL that the configuration would not take, or of which the daemon does not
// know the scheme. Its errors do not contain the URL.
func checkURL(url string) error {
	if scheme, _, found := strings.Cut(strings.ToLower(url), "://"); !found || scheme != "redis" && scheme != "rediss" && scheme != "unix" {
		return &verb.Fault{Code: verb.Usage, Err: errors.New("--redis: the URL does not begin with redis://, rediss:// or unix://")}
	}
	c := config.Default()
	if err := c.Override("redis.url", "--redis", url); err != nil {
		return &verb.Fault{Code: verb.Usage, Err: err}
	}
	return nil
}
