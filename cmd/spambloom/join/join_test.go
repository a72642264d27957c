package join

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// trial is a site that joins, or lets another one join.
type trial struct {
	t *testing.T
	verb.Place
	errs string // output of the last verb
}

func newTrial(t *testing.T, name string) *trial {
	t.Helper()
	dir := testenv.Dir(t)
	s := &trial{t: t, Place: verb.Place{Config: filepath.Join(dir, "spambloom.toml"), Data: dir}}
	text := fmt.Sprintf("[site]\nname = %q\n[redis]\nurl = \"redis://10.0.0.1:6379/0\"\n", name)
	testenv.Check(t, os.WriteFile(s.Config, []byte(text), 0o600))
	key, err := keyring.New()
	testenv.Check(t, err)
	testenv.Check(t, keyring.WriteKey(filepath.Join(dir, "federation.key"), key))
	return s
}

// run runs a verb, which must succeed, and returns the line that it prints.
func (s *trial) run(do func(verb.Streams) error) string {
	s.t.Helper()
	var out, errs bytes.Buffer
	err := do(verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if s.errs = errs.String(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.errs)
	}
	return strings.TrimSpace(out.String())
}

func (s *trial) join(line string) string {
	s.t.Helper()
	return s.run(func(out verb.Streams) error { return join(out, line, joinFlags{Place: s.Place, yes: true}) })
}

func (s *trial) invite(request string) string {
	s.t.Helper()
	return s.run(func(out verb.Streams) error { return invite(out, request, inviteFlags{Place: s.Place, yes: true}) })
}

func (s *trial) fingerprint() string {
	s.t.Helper()
	opened, err := open(s.Place)
	testenv.Check(s.t, err)
	return opened.peer().Fingerprint()
}

// A join that was killed when it had written the key, and not yet given it to the daemon's user, can
// be repeated: otherwise the daemon could not read the key that the configuration names.
func TestJoinAfterKill(t *testing.T) {
	testenv.Root(t) // it gives files to others
	mx1, mx2 := newTrial(t, "mx1"), newTrial(t, "mx2")
	line := mx1.invite(mx2.join(""))
	key, err := keyring.ReadKey(filepath.Join(mx1.Data, "federation.key"))
	testenv.Check(t, err)
	path := filepath.Join(mx2.Data, "federation-"+keyring.ID(key)+".key")
	testenv.Check(t, keyring.WriteKey(path, key))
	testenv.Check(t, os.Chown(filepath.Join(mx2.Data, "federation.key"), 12345, 12345))
	mx2.join(line)
	if uid, _, ok := change.Owner(path); !ok || uid != 12345 {
		t.Errorf("the key belongs to user %d", uid)
	}
}

// Both administrators see both fingerprints, so each can compare that of the other.
func TestFingerprintsCanBeCompared(t *testing.T) {
	mx1, mx2 := newTrial(t, "mx1"), newTrial(t, "mx2")
	request := mx2.join("")
	if !strings.Contains(mx2.errs, mx2.fingerprint()) {
		t.Errorf("join shows its own fingerprint nowhere: %s", mx2.errs)
	}
	line := mx1.invite(request)
	for name, s := range map[string]*trial{"mx1": mx1, "mx2": mx2} {
		if !strings.Contains(mx1.errs, s.fingerprint()) {
			t.Errorf("invite lacks the fingerprint of %s: %s", name, mx1.errs)
		}
	}
	mx2.join(line)
	if !strings.Contains(mx2.errs, mx1.fingerprint()) {
		t.Errorf("join lacks the fingerprint of mx1: %s", mx2.errs)
	}
	if !strings.Contains(mx2.errs, "receive the reports of this site") {
		t.Errorf("join does not say what others receive: %s", mx2.errs)
	}
}

// A URL that the daemon would not start with changes nothing, and its password is shown nowhere.
func TestJoinChecksURL(t *testing.T) {
	mx1, mx2 := newTrial(t, "mx1"), newTrial(t, "mx2")
	line := mx1.invite(mx2.join(""))
	before, err := os.ReadFile(mx2.Config)
	testenv.Check(t, err)
	for _, url := range []string{"http://me:hunter2@db", "me:hunter2@db:6379", "--hunter2"} {
		var out bytes.Buffer
		err := join(verb.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, line, joinFlags{Place: mx2.Place, redis: url, yes: true})
		if err == nil || strings.Contains(fmt.Sprint(err, out.String()), "hunter2") {
			t.Errorf("%s: %v\n%s", url, err, &out)
		}
	}
	if after, err := os.ReadFile(mx2.Config); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the configuration is now %s (%v)", after, err)
	}
}

// A site that is ignored here, and is invited or joined, would exchange without effect: both verbs
// name the command that changes that.
func TestIgnoredSiteIsNamed(t *testing.T) {
	for _, c := range []struct {
		muted []folder.MutedSite
		want  string
	}{
		{[]folder.MutedSite{{Site: "other", Dropped: true, Since: 1790000000}}, "other was dropped here on 2026-09-21, so this site will not read its reports; to read them again: spambloom mute --undo other"},
		{[]folder.MutedSite{{Site: "other", Since: 1790000000}}, "other was muted here on 2026-09-21, so its reports have no effect; to use them again: spambloom mute --undo other"},
		{[]folder.MutedSite{{Site: "stranger", Dropped: true}}, ""},
	} {
		for _, joins := range []bool{false, true} {
			here, other := newTrial(t, "here"), newTrial(t, "other")
			key, err := keyring.ReadKey(filepath.Join(here.Data, "federation.key"))
			testenv.Check(t, err)
			testenv.Check(t, folder.Identity{Version: folder.IdentityVersion, Site: "here", KeyID: keyring.ID(key), Muted: c.muted}.Write(here.Data))
			if joins {
				here.join(other.invite(here.join("")))
			} else {
				here.invite(other.join(""))
			}
			if warned := strings.Contains(here.errs, "spambloom: warning: "); warned != (c.want != "") || !strings.Contains(here.errs, c.want) || strings.Contains(here.errs, "stranger") {
				t.Errorf("joins %v, %+v: %s", joins, c.muted, here.errs)
			}
		}
	}
}

// A site gains no trust by an invitation: one that only votes at the member only votes at the new
// site, and one that is muted there is not named.
func TestInvitationGivesNoMoreTrust(t *testing.T) {
	mx1, tables := newTrial(t, "mx1"), ""
	for name, trust := range map[string]string{"full": "full", "voter": "vote", "out": "none", "bad": "vote", "gone": "full"} {
		key, err := keyring.NewSigningKey()
		testenv.Check(t, err)
		tables += fmt.Sprintf("[[peer]]\nname = %q\nkey = %q\ntrust = %q\n", name, keyring.PublicKey(key), trust)
	}
	config, err := os.ReadFile(mx1.Config)
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(mx1.Config, append(config, tables...), 0o600))
	key, err := keyring.ReadKey(filepath.Join(mx1.Data, "federation.key"))
	testenv.Check(t, err)
	muted := []folder.MutedSite{{Site: "bad"}, {Site: "gone", Dropped: true}}
	testenv.Check(t, folder.Identity{Version: folder.IdentityVersion, Site: "mx1", KeyID: keyring.ID(key), Muted: muted}.Write(mx1.Data))

	for trust, want := range map[string]string{"": "vote", "none": "none"} {
		joined := newTrial(t, cmp.Or(trust, "mx2"))
		line := mx1.invite(joined.join(""))
		joined.run(func(out verb.Streams) error {
			return join(out, line, joinFlags{Place: joined.Place, yes: true, trust: trust})
		})
		s, err := open(joined.Place)
		testenv.Check(t, err)
		got := map[string]string{}
		for _, p := range s.Peers {
			got[p.Name] = p.Trust
		}
		all := cmp.Or(trust, "full")
		delete(got, "mx2") // the one who joined before
		delete(got, "none")
		if want := map[string]string{"mx1": all, "full": all, "voter": want}; !maps.Equal(got, want) {
			t.Errorf("--trust %q: %v, want %v", trust, got, want)
		}
	}
}

// A member with more peers than a line has room for can invite, and names those with room.
func TestInvitationOfManyPeers(t *testing.T) {
	mx1, mx2, tables := newTrial(t, "mx1"), newTrial(t, "mx2"), ""
	for n := range invitation.MaxPeers + 8 {
		key, err := keyring.NewSigningKey()
		testenv.Check(t, err)
		tables += fmt.Sprintf("[[peer]]\nname = \"peer%02d\"\nkey = %q\ntrust = \"vote\"\n", n, keyring.PublicKey(key))
	}
	config, err := os.ReadFile(mx1.Config)
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(mx1.Config, append(config, tables...), 0o600))
	mx2.join(mx1.invite(mx2.join("")))
	s, err := open(mx2.Place)
	testenv.Check(t, err)
	if last := s.Peers[len(s.Peers)-1]; len(s.Peers) != 1+invitation.MaxPeers || last.Name != "peer31" || last.Trust != "vote" {
		t.Errorf("%d peers, the last one is %s with trust %s", len(s.Peers), last.Name, last.Trust)
	}
}
