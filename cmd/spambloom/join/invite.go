package join

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

const inviteHelp = `invite prints one line by which another site joins the federation of this site.

The other site makes a request first, with spambloom join. Its administrator sends it to
you, and you send back the line that invite prints; mail will do. The line contains the
federation key, which only the site of the request can read. Compare the fingerprint of the
other site that invite shows with the one that join has shown there: otherwise somebody on
the way could have put another request in its place. invite also prints the fingerprint of
this site, which join shows there before it asks.

Without a request, invite prints a line without the federation key. It names the Redis,
this site's key and the parameters, and join answers it with a request.

If the configuration has [[peer]] tables, one for the new site is added, with --trust.
Without any, every site with the federation key is fully trusted, and nothing is added
unless --trust is given.

The password of Redis is in the line only with --with-password: sealed for the site if
there is a request, readable for everybody if not.

Exit codes:
  0   the line is printed` + codes

const codes = `
  1   the answer to the question was no
  64  wrong usage, or there is no terminal and --yes is missing
  65  the line, a key or the configuration is wrong
  66  a file that cannot be read
  73  a file cannot be written
  74  the result cannot be written
  77  no permission`

type inviteFlags struct {
	verb.Place
	redis, trust      string
	withPassword, yes bool
}

// InviteCommand returns the verb invite.
func InviteCommand(streams verb.Streams) *cobra.Command {
	var flags inviteFlags
	cmd := &cobra.Command{
		Use:   "invite [REQUEST]",
		Short: "print a line by which another site joins the federation",
		Long:  inviteHelp,
		Example: `  spambloom invite spambloom-request-1:...
  spambloom invite --with-password --trust vote spambloom-request-1:...`,
		RunE: func(_ *cobra.Command, args []string) error {
			return invite(streams, strings.Join(args, ""), flags)
		},
	}
	flags.AddFlags(cmd)
	cmd.Flags().StringVar(&flags.redis, "redis", "", "`URL` by which the other site reaches Redis (default: redis.url)")
	cmd.Flags().StringVar(&flags.trust, "trust", "", "trust in the new site: full, vote or none")
	cmd.Flags().BoolVar(&flags.withPassword, "with-password", false, "include the password of Redis")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	return cmd
}

func invite(streams verb.Streams, request string, flags inviteFlags) error {
	if err := checkTrust(flags.trust); err != nil {
		return err
	}
	s, err := open(flags.Place)
	if err != nil {
		return err
	}
	key, err := keyring.ReadKey(s.files.Federation)
	if err != nil {
		return fault(err)
	}
	i, url, err := s.invitation(key, flags)
	if err != nil {
		return err
	}
	if request != "" {
		if err := s.answer(streams, i, request, invitation.Secret{Key: key, Redis: url}, flags); err != nil {
			return err
		}
	} else {
		leaveOut(streams, i)
		if flags.withPassword {
			i.Redis, i.Missing = url, false
			streams.Note("warning", "the line contains the password of Redis, readable for everybody who sees it")
		}
	}
	line, err := i.Line(s.key)
	if err != nil {
		return &verb.Fault{Code: verb.Data, Err: err}
	}
	if err := streams.Print(line + "\n"); err != nil {
		return err
	}
	streams.Note("hint", fmt.Sprintf("the other site runs: spambloom join, and this line; join shows there the fingerprint of %s, which is %s", s.name, s.peer().Fingerprint()))
	return nil
}

func checkTrust(trust string) error {
	switch trust {
	case "", "full", "vote", "none":
		return nil
	}
	return &verb.Fault{Code: verb.Usage, Err: fmt.Errorf("--trust %.20q; allowed: full, vote, none", trust)}
}

// invitation returns this site's invitation without a sealed part, and the URL of Redis with
// its password if that is to be included, else "".
func (s *site) invitation(key [32]byte, flags inviteFlags) (i *invitation.Invitation, url string, err error) {
	spec := s.Redis.URL
	switch {
	case flags.redis != "":
		spec = flags.redis
	case spec == "":
		return nil, "", &verb.Fault{Code: verb.Data, Err: errors.New("redis.url is not set, so this site exchanges nothing"), Hint: "set it in " + s.file.Path + " and restart; contrib/redis.md shows how to set up Redis"}
	case invitation.IsLocal(spec):
		return nil, "", &verb.Fault{Code: verb.Data, Err: fmt.Errorf("redis.url, %s, is of use on this machine only", config.RedisShown(spec)), Hint: "name the URL for other machines: spambloom invite --redis URL"}
	}
	clear, missing, err := invitation.WithoutPassword(spec)
	if err != nil {
		return nil, "", &verb.Fault{Code: verb.Data, Err: err}
	}
	i = &invitation.Invitation{
		Peer: s.peer(), Federation: keyring.ID(key), Redis: clear, Missing: missing, Parameters: s.parameters(),
		IsOpen: len(s.Peers) == 0 && flags.trust == "",
	}
	s.addPeers(i)
	if missing && flags.withPassword {
		url = spec
	}
	i.CA, err = readCA(s.Redis.CA)
	return i, url, err
}

// addPeers names the peers that have a say here, and whose is a vote only. The other site would
// trust a muted one.
func (s *site) addPeers(i *invitation.Invitation) {
	muted := s.muted()
	for _, p := range s.Peers {
		if _, isMuted := muted[p.Name]; isMuted || p.Name == s.name || p.Key == "" || p.Trust == "none" {
			continue
		}
		i.Peers = append(i.Peers, invitation.Peer{Name: p.Name, Key: p.Key})
		if p.Trust == "vote" {
			i.Votes = append(i.Votes, p.Name)
		}
	}
}

// leaveOut removes the peers for which a line has no room.
func leaveOut(streams verb.Streams, i *invitation.Invitation) {
	if len(i.Peers) <= invitation.MaxPeers {
		return
	}
	rest := i.Peers[invitation.MaxPeers:]
	i.Peers = i.Peers[:invitation.MaxPeers]
	i.Votes = slices.DeleteFunc(i.Votes, func(name string) bool {
		return slices.ContainsFunc(rest, func(p invitation.Peer) bool { return p.Name == name })
	})
	streams.Note("warning", fmt.Sprintf("the line has room for %d peers: the other site must add the [[peer]] of %d more by hand, %s to %s",
		invitation.MaxPeers, len(rest), rest[0].Name, rest[len(rest)-1].Name))
}

// readCA returns the CA file of Redis, or "" if there is none.
func readCA(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fault(err)
	}
	return string(text), nil
}

// answer seals the invitation for the site of a request, and adds its [[peer]].
func (s *site) answer(streams verb.Streams, i *invitation.Invitation, line string, secret invitation.Secret, flags inviteFlags) error {
	if !invitation.IsRequest(line) {
		if _, err := invitation.ParseInvitation(line); err == nil {
			return &verb.Fault{Code: verb.Data, Err: errors.New("this line is an invitation"), Hint: "to join that federation, run spambloom join with it"}
		}
	}
	r, err := invitation.ParseRequest(line)
	if err != nil {
		return &verb.Fault{Code: verb.Data, Err: err}
	}
	fresh, err := s.newPeers([]invitation.Peer{r.Peer}, flags.trust)
	if err != nil {
		return err
	}
	if i.IsOpen {
		fresh = nil
	}
	i.Peers = without(i.Peers, r.Name)
	i.Votes = slices.DeleteFunc(i.Votes, func(name string) bool { return name == r.Name })
	leaveOut(streams, i)
	file := *s.file
	if len(fresh) > 0 {
		text, err := config.Edit(file.Path, string(file.Old), nil, fresh)
		if err != nil {
			return fault(err)
		}
		file.New = []byte(text)
	}
	for _, w := range s.ignored(r.Name) {
		streams.Note("warning", w)
	}
	streams.Show(file.Diff(show))
	question := fmt.Sprintf("give the federation key to %s, fingerprint %s?", r.Name, r.Fingerprint())
	if err := streams.Confirm(question, flags.yes); err != nil {
		return err
	}
	if flags.yes {
		streams.Note("hint", fmt.Sprintf("the line is for %s; compare the fingerprint there: %s", r.Name, r.Fingerprint()))
	}
	if err := i.Seal(r, secret); err != nil {
		return &verb.Fault{Code: verb.Data, Err: err}
	}
	if !file.IsChanged() {
		return nil
	}
	if err := write(&file); err != nil {
		return err
	}
	if len(s.Peers) == 0 {
		streams.Note("warning", "this is the first [[peer]]; other sites without one are not trusted any more")
	}
	streams.Note("hint", "to apply the new [[peer]]: "+restartHint(file.Path))
	return nil
}

func without(peers []invitation.Peer, name string) (others []invitation.Peer) {
	for _, p := range peers {
		if p.Name != name {
			others = append(others, p)
		}
	}
	return others
}

func restartHint(path string) string {
	test := "spambloomd -t"
	if path != config.DefaultPath {
		test += " -c " + path
	}
	return test + " && systemctl restart spambloom"
}

// write writes a file.
func write(f *change.File) error {
	err := f.Write()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &verb.Fault{Code: verb.NoPerm, Err: err, Hint: "run it as root"}
	}
	return &verb.Fault{Code: verb.CantCreate, Err: err}
}
