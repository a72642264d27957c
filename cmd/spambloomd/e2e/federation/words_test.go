package federation

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// users are people at two joined sites, a and b, with the real command.
type users struct {
	*testing.T
	a, b *harness.Site
	dir  string
}

func newUsers(t *testing.T) users {
	t.Helper()
	redis, key := harness.StartRedis(t), filepath.Join(testenv.Dir(t), "key")
	u := users{T: t, a: harness.NewSite(t, "a", key, redis.URL()), b: harness.NewSite(t, "b", key, redis.URL()), dir: testenv.Dir(t)}
	u.a.Start()
	u.b.Start()
	return u
}

// run runs the command at a site, which ends with the code and prints want.
func (u users) run(at *harness.Site, code int, want string, args ...string) {
	u.Helper()
	if r := at.CLI(args...); r.Code != code || !strings.Contains(r.Stdout+r.Stderr, want) {
		u.Errorf("%s: %q: %+v, want %d and %q", at.Name, args, r, code, want)
	}
}

// everywhere waits until all texts have the verdict at both sites.
func (u users) everywhere(verdict string, texts ...string) {
	u.Helper()
	for _, s := range []*harness.Site{u.a, u.b} {
		for _, text := range texts {
			testenv.Eventually(u.T, "it is "+verdict+" at "+s.Name, func() bool { return s.Check(u.T, text).Verdict == verdict })
		}
	}
}

// TestJunkInboxJunk: the newest word of a user wins at both sites, also within a period.
func TestJunkInboxJunk(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	spam := harness.Text()
	mail := harness.Write(t, filepath.Join(u.dir, "spam.eml"), harness.Message(spam))
	for range 2 {
		u.run(u.a, 0, "It is spam here from now on, and at other sites", "report", "--as", "anna", mail)
		u.everywhere("spam", spam, varied(spam))
		u.run(u.a, 0, "It is not spam here from now on, and at other sites", "revoke", "--as", "anna", mail)
		u.everywhere("clean", spam, varied(spam))
	}
	u.run(u.b, 0, "It is spam", "report", "--as", "bert", mail)
	u.everywhere("spam", spam, varied(spam))
}

// TestFirstWord: someone revokes a spam that nobody has reported yet. That does not prevent
// reports: the first listing is revoked once, and the next reporter lists the spam again, at
// both sites, with its near-duplicates. An administrator can settle it.
func TestFirstWord(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	spam := harness.Text()
	mail := harness.Write(t, filepath.Join(u.dir, "spam.eml"), harness.Message(spam))
	u.run(u.b, 0, "and waits: nobody has reported it", "revoke", "--as", "mallory", mail)
	u.run(u.a, 0, "It is spam", "report", "--as", "anna", mail)
	u.everywhere("clean", spam, varied(spam)) // the word that waited has acted
	u.run(u.b, 0, "It is spam", "report", "--as", "bert", mail)
	u.everywhere("spam", spam, varied(spam))
	u.run(u.b, 0, "", "settle", "spam", mail)
	u.run(u.b, 0, "an administrator has settled it", "revoke", "--as", "mallory", mail)
	u.everywhere("spam", spam)
}

// TestNoMail: files that are no mail are refused by name, at joined sites as at one alone.
func TestNoMail(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	random := make([]byte, 300_000)
	_, _ = rand.Read(random) // never fails
	sources := filepath.Join(u.dir, "sources")
	if err := os.Mkdir(sources, 0o755); err != nil {
		t.Fatal(err)
	}
	harness.Write(t, filepath.Join(sources, "main.go"), "package main\n\n// "+harness.Text())
	for _, name := range []string{"/bin/ls", filepath.Join(harness.Repository, "LICENSE"), sources, harness.Write(t, filepath.Join(u.dir, "random"), string(random))} {
		u.run(u.a, 65, "not an e-mail message: no header", "report", name)
	}
	if strings.Contains(u.a.Log(), "report accepted") {
		t.Errorf("something is accepted:\n%s", u.a.Log())
	}
}

// TestForgottenFolder: a user who names a whole Maildir is asked, and nothing is listed before.
// An undo of many is also asked.
func TestForgottenFolder(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	maildir, wanted := filepath.Join(u.dir, "Maildir"), make([]string, 30)
	for _, name := range []string{"cur", "new", "tmp", ".Junk/cur", ".Junk/new", ".Junk/tmp"} {
		if err := os.MkdirAll(filepath.Join(maildir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range wanted {
		wanted[i] = harness.Text()
		harness.Write(t, filepath.Join(maildir, "cur", fmt.Sprint(i, ":2,S")), harness.Message(wanted[i]))
	}
	const asked = "more than 20 messages, and the question cannot be asked: add --yes to confirm"
	u.run(u.a, 64, asked, "report", "--as", "anna", maildir)
	u.everywhere("clean", wanted...)
	u.run(u.a, 0, "total: 30 messages: 30 accepted", "report", "--yes", "--as", "anna", maildir)
	u.everywhere("spam", wanted...)
	u.run(u.a, 64, asked, "undo", "--since", "1h", "anna")
	u.run(u.a, 0, "30 reports and 0 revocations", "undo", "--yes", "--since", "1h", "anna")
	u.everywhere("clean", wanted...)
}
