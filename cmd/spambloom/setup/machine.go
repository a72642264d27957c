package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// machine is what is installed here.
type machine struct {
	Options
	server *mta.Server
	file   *change.File // the daemon's configuration
	config *config.Config
	daemon account

	hasRspamd, hasSpamAssassin, hasDovecot, hasSystemd bool
}

// account is a user of this machine with a group.
type account struct {
	name     string
	uid, gid int
}

func look(ctx context.Context, o Options) (*machine, error) {
	m := &machine{Options: o, server: mta.Read(ctx, o.Postfix, o.Sendmail), config: config.Default()}
	if m.server == nil {
		return nil, &verb.Fault{
			Code: verb.NoInput,
			Err:  errors.New("neither Postfix nor Sendmail was found: postconf shows no configuration, and there is no " + filepath.Join(o.Sendmail, "sendmail.cf")),
			Hint: "for a mail server without milters, such as Exim, see contrib/spamd.md",
		}
	}
	var err error
	if m.file, err = change.Read(o.Config); err != nil {
		return nil, fault(err)
	}
	if !m.file.IsNew {
		if m.config, err = config.Load(o.Config); err != nil {
			return nil, fault(err)
		}
	}
	m.daemon = daemonAccount(o.State())
	m.hasRspamd, m.hasSpamAssassin = isFolder(o.Rspamd), isFolder(o.SpamAssassin)
	m.hasDovecot = isFolder("/etc/dovecot")
	m.hasSystemd = isFolder("/run/systemd/system")
	return m, nil
}

// daemonAccount returns the daemon's user: the owner of its state folder, or, before its first
// start, the one that the package makes.
func daemonAccount(state string) account {
	if uid, gid, ok := change.Owner(state); ok {
		if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
			return account{u.Username, uid, gid}
		}
		return account{strconv.Itoa(uid), uid, gid}
	}
	if u, err := lookup("spambloom"); err == nil {
		return u
	}
	return account{"root", 0, 0}
}

func lookup(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	return account{name, uid, gid}, errors.Join(uidErr, gidErr)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// summary is the first line that setup prints.
func (m *machine) summary() string {
	found := []string{m.server.Name + " (" + m.server.File + ")"}
	for _, p := range []struct {
		name string
		has  bool
	}{{"rspamd", m.hasRspamd}, {"SpamAssassin", m.hasSpamAssassin}, {"Dovecot", m.hasDovecot}} {
		if p.has {
			found = append(found, p.name)
		}
	}
	return "Found: " + strings.Join(found, ", ") + "\n"
}

// notes are findings about what setup does not change.
func (m *machine) notes() (notes []finding.Finding) {
	if flag := m.config.Milter.SpamFlag; flag != "" && (m.hasRspamd || m.hasSpamAssassin) {
		notes = append(notes, finding.Bad("scores", "remove milter.spam_flag from "+m.Config+" and restart the daemon",
			"milter.spam_flag is set, so rspamd and SpamAssassin may count %s as well as the verdict", flag))
	}
	if m.hasDovecot {
		notes = append(notes, finding.Skip("dovecot", "found, not changed; contrib/mailbox.md: users report by moving mail into Junk"))
	}
	return notes
}

// listen returns the address of the daemon for this mail server, and whether the daemon has
// it already, by its configuration or because systemd made the socket. A TCP address that the
// mail server asks remains, also the default one.
func (m *machine) listen() (spec string, isSet bool) {
	preferred := "unix:/run/spambloom/milter.sock"
	if m.server.Queue != "" {
		preferred = "unix:" + filepath.Join(m.server.Queue, "spambloom/milter.sock")
	}
	set := m.config.Milter.Listen
	if at := m.server.Find(set); at >= 0 && m.server.Milters[at].Path == "" { // it would ask an address without a daemon
		return m.server.Milters[at].Spec, true
	}
	if slices.Contains(set, preferred) || len(set) == 0 || slices.Equal(set, config.Default().Milter.Listen) {
		return preferred, slices.Contains(set, preferred)
	}
	return set[0], true
}

// spec returns an address of the daemon in the syntax of the mail server.
func (m *machine) spec(listen string) (string, error) {
	network, address, err := socket.Parse(listen)
	if err != nil {
		return "", err
	}
	if network != "unix" {
		host, port, _ := strings.Cut(address, ":")
		if m.server.Queue == "" {
			return "inet:" + port + "@" + host, nil
		}
		return "inet:" + address, nil
	}
	if m.server.Queue == "" {
		return "unix:" + address, nil
	}
	inside, err := filepath.Rel(m.server.Queue, address)
	if err == nil && filepath.IsLocal(inside) {
		return "unix:" + inside, nil
	}
	if m.server.Chroot != "" {
		return "", invalid("put it into a folder below "+m.server.Queue+": contrib/postfix.md", "%s: Postfix runs in the chroot %s, and cannot reach this socket", listen, m.server.Chroot)
	}
	return "unix:" + address, nil
}

// folder returns the folder of the daemon's socket; nil if none is needed.
func (m *machine) folder(listen string) (*folder, error) {
	network, address, err := socket.Parse(listen)
	if err != nil || network != "unix" {
		return nil, nil
	}
	f := &folder{path: filepath.Dir(address), owner: m.daemon, mode: 0o755}
	if m.server.Queue != "" {
		mail, err := lookup(m.server.User)
		if err != nil {
			return nil, fmt.Errorf("the user of Postfix: %w", err)
		}
		// A socket made below belongs to the group of the folder, so that the daemon need not
		// be a member of it.
		f.owner.gid, f.group, f.mode = mail.gid, groupName(mail.gid), 0o750|os.ModeSetgid
	}
	return f, nil
}

func groupName(gid int) string {
	g, err := user.LookupGroupId(strconv.Itoa(gid))
	if err != nil {
		return strconv.Itoa(gid)
	}
	return g.Name
}
