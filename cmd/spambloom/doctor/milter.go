package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
)

// milters checks the milters of a mail server; nil: none was found.
func (p *patient) milters(s *mta.Server) []finding.Finding {
	if s == nil {
		return []finding.Finding{finding.Skip("milter", "neither Postfix nor Sendmail found on this machine, or their configuration cannot be read")}
	}
	at := s.Find(append(p.addresses(), p.config.Milter.Listen...))
	if at < 0 && s.Override != "" {
		return []finding.Finding{finding.Fault("milter", "remove that from master.cf, or name the daemon there", "in master.cf, %s: %s does not ask the daemon, so mail is not judged", s.Override, s.Name)}
	}
	if at < 0 {
		return []finding.Finding{finding.Fault("milter", "spambloom setup, or the lines of contrib/postfix.md and contrib/sendmail.md", "%s does not ask the daemon (%s), so mail is not judged", s.Name, strings.Join(p.addresses(), ", "))}
	}
	m := s.Milters[at]
	results := []finding.Finding{finding.Good("milter", "%s asks %s", s.Name, m.Spec)}
	if before := flagSetters(s.Milters[:at]); before != "" {
		results = append(results, finding.Bad("milter", "put spambloom first in the list of milters", "%s asks %s before, whose X-Spam-Flag the daemon removes", s.Name, before))
	}
	if m.DefaultAction != "accept" {
		results = append(results, finding.Bad("milter", "set default_action=accept for this milter", "while the daemon is away, %s answers %s: mail is delayed or lost", s.Name, m.DefaultAction))
	}
	if most := p.mostConnections(); s.Sessions == mta.NoLimit || s.Sessions > most {
		results = append(results, p.tooManySessions(s, most))
	}
	if p.config.Milter.AuthservID == "" {
		results = append(results, finding.Skip("milter", "proofs of senders: milter.authserv_id is empty, so the daemon neither learns from mail that arrives nor spares a company's mail when a copy of it is reported; contrib/policy.md shows how to set it"))
	}
	if p.status != nil && p.status.Database.NewSite && p.config.Milter.AuthservID != "" {
		results = append(results, finding.Good("milter", "this site is new: nothing can be common yet, so near matches list mail of proved senders only with nearly all of a report; three weeks of such mail end that, or spambloom learn PATH"))
	}
	if _, err := os.Stat(m.Path); m.Path == "" || p.isDown && errors.Is(err, fs.ErrNotExist) {
		return results
	}
	return append(results, mayConnect(s.User, m.Path))
}

// mostConnections returns how many connections the daemon takes of the mail server.
func (p *patient) mostConnections() int {
	m := p.config.Milter
	if m.MaxConnectionsPerClient == 0 {
		return int(m.MaxConnections)
	}
	return int(min(m.MaxConnections, m.MaxConnectionsPerClient))
}

// tooManySessions warns of a mail server whose idle sessions can use up the daemon's connections.
func (p *patient) tooManySessions(s *mta.Server, most int) finding.Finding {
	sessions, way := "any number of", "set confMAX_DAEMON_CHILDREN as in contrib/sendmail.md"
	if s.Sessions != mta.NoLimit {
		sessions = strconv.Itoa(s.Sessions)
	}
	if s.Name == "Postfix" {
		way = "set default_process_limit, or the limits in master.cf, below milter.max_connections_per_client, or raise that"
	}
	return finding.Bad("milter", way, "%s takes %s SMTP sessions at a time, and the daemon %d connections: whoever leaves so many sessions idle lets other mail pass unjudged", s.Name, sessions, most)
}

// addresses returns where the daemon listens.
func (p *patient) addresses() []string {
	if len(p.facts.Milter) > 0 {
		return p.facts.Milter
	}
	return p.config.Milter.Listen
}

// flagSetters returns the milters that are known to set X-Spam-Flag, or "".
func flagSetters(before []mta.Milter) string {
	var names []string
	for _, m := range before {
		for _, name := range []string{"spamass", "rspamd", ":11332"} {
			if strings.Contains(m.Spec, name) {
				names = append(names, m.Spec)
				break
			}
		}
	}
	return strings.Join(names, ", ")
}

// mayConnect checks that a user can open a unix socket: to enter every folder above it, and to
// write to it.
func mayConnect(name, path string) finding.Finding {
	u, err := user.Lookup(name)
	if err != nil {
		return finding.Skip("milter", "the rights on %s: %v", path, err)
	}
	groups, _ := u.GroupIds() // without: those of the user alone
	groups = append(groups, u.Gid)
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return missing(err)
		}
		if !mayUse(u, groups, info, 0o1) {
			return finding.Fault("milter", fmt.Sprintf("chmod or chgrp %s, see contrib/postfix.md", dir), "the user %s may not enter %s, so mail passes unjudged", name, dir)
		}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return missing(err)
	case info.Mode()&fs.ModeSocket == 0:
		return finding.Fault("milter", "remove "+path+" and restart the daemon", "%s is no socket, so mail passes unjudged", path)
	case !mayUse(u, groups, info, 0o2):
		return finding.Fault("milter", fmt.Sprintf("set milter.group = %q, and restart the daemon", name), "the user %s may not connect to %s, so mail passes unjudged", name, path)
	}
	return finding.Good("milter", "the user %s may connect to %s", name, path)
}

func missing(err error) finding.Finding {
	if os.IsPermission(err) {
		return finding.Skip("milter", "%v; run doctor as root", err)
	}
	return finding.Fault("milter", "compare milter.listen with the mail server's address, as seen from its chroot", "%v: mail passes unjudged", err)
}

// mayUse reports whether a user has a right, 1 to enter or 2 to write, on a file.
func mayUse(u *user.User, groups []string, info fs.FileInfo, right fs.FileMode) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok || u.Uid == "0":
		return true
	case u.Uid == strconv.Itoa(int(owner.Uid)):
		return mode&(right<<6) != 0
	case slices.Contains(groups, strconv.Itoa(int(owner.Gid))):
		return mode&(right<<3) != 0
	}
	return mode&right != 0
}

// ownerOf returns the user that owns a file.
func ownerOf(path string) (uid uint32, isKnown bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return owner.Uid, true
}
