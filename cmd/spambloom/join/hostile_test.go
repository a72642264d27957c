package join

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// certificate is of a CA.
const certificate = `-----BEGIN CERTIFICATE-----
MIIBMDCB46ADAgECAhQ174rVoKHyW25eyyQlkN+/nx+DhDAFBgMrZXAwDTELMAkG
A1UEAwwCY2EwIBcNMjYxMTI0MDMxNTQ0WhgPMjEyNjEwMzEwMzE1NDRaMA0xCzAJ
BgNVBAMMAmNhMCowBQYDK2VwAyEALIUsDDmHWxdA4qXtV6SHyrhGQKVDLX4BlPI/
WO+rwn6jUzBRMB0GA1UdDgQWBBR5QUnLcuE5Yc8m41M2syjWCmWs7TAfBgNVHSME
GDAWgBR5QUnLcuE5Yc8m41M2syjWCmWs7TAPBgNVHRMBAf8EBTADAQH/MAUGAytl
cANBAG2cvcTSFJtehSHyeg96ghI4rJ0APlQJ6NnHfC19RvIJUSMa2pKEx1Dlr/VN
UMzLMVXndZx55rTYKWVUIkMi2Qk=
-----END CERTIFICATE-----
`

// TestHostileInvitation is the attack "invitation": a member makes lines with hostile values for
// a site that wants to join. The text that join shows before it asks does not act on the terminal, no
// value becomes a setting of its own, and nothing is changed without an answer.
func TestHostileInvitation(t *testing.T) {
	const escapes = "\x1b[H\x1b[2J\x1b]0;pwned\a"
	for name, change := range map[string]func(*invitation.Invitation){
		"CA":       func(i *invitation.Invitation) { i.CA = certificate + escapes + "\r\u202e\n" },
		"no CA":    func(i *invitation.Invitation) { i.CA = "-----BEGIN CERTIFICATE-----\n" + escapes },
		"URL":      func(i *invitation.Invitation) { i.Redis = "redis://h:1/0" + escapes },
		"line":     func(i *invitation.Invitation) { i.Redis = "redis://h:1/0\"\n[control]\nlisten = \"inet:0\"\n#" },
		"fragment": func(i *invitation.Invitation) { i.Redis = "rediss://u:p@h:1/0?x=" + escapes },
		"capacity": func(i *invitation.Invitation) { i.Parameters.Capacity = 1 << 62 },
		"keep":     func(i *invitation.Invitation) { i.Parameters.Keep = 1 << 62 },
		"period":   func(i *invitation.Invitation) { i.Parameters.Period = "1ns" },
		"error":    func(i *invitation.Invitation) { i.Parameters.MaxErrorPerMail = 5e-324 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := testenv.Dir(t)
			flags := joinFlags{Place: verb.Place{Config: filepath.Join(dir, "spambloom.toml"), Data: dir}}
			if err := os.WriteFile(flags.Config, []byte("[site]\nname = \"mx2\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := open(flags.Place)
			if err != nil {
				t.Fatal(err)
			}
			line := hostile(t, s, change)
			var out, errs bytes.Buffer
			streams := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
			err = join(streams, line, flags)
			if err == nil {
				t.Error("joined without an answer")
			}
			if strings.ContainsAny(out.String()+errs.String(), "\x1b\a\r\u202e") {
				t.Errorf("printed %q %q", out.String(), errs.String())
			}
			flags.yes = true
			if err = join(streams, line, flags); (err == nil) != (name == "CA") {
				t.Errorf("with --yes: %v", err)
			}
			if again, openErr := open(flags.Place); openErr != nil {
				t.Errorf("the configuration is broken: %v", openErr)
			} else if again.Control.Listen != s.Control.Listen {
				t.Errorf("control.listen is %q", again.Control.Listen)
			}
		})
	}
}

// hostile returns the line of a member that lets a site join, with a change.
func hostile(t *testing.T, s *site, change func(*invitation.Invitation)) string {
	t.Helper()
	line, err := invitation.NewRequest(s.name, s.key)
	if err != nil {
		t.Fatal(err)
	}
	request, err := invitation.ParseRequest(line)
	if err != nil {
		t.Fatal(err)
	}
	member, err := keyring.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	federation := [32]byte{7}
	i := &invitation.Invitation{
		Peer: invitation.Peer{Name: "mx1", Key: keyring.PublicKey(member)}, Federation: keyring.ID(federation), Redis: "redis://10.0.0.1:6379/0",
		Parameters: invitation.Parameters{Period: "168h0m0s", Keep: 5, Capacity: 1_000_000, MaxErrorPerMail: 1e-6},
	}
	change(i)
	if err := i.Seal(request, invitation.Secret{Key: federation}); err != nil {
		t.Fatal(err)
	}
	if line, err = i.Line(member); err != nil {
		t.Fatal(err)
	}
	return line
}

// TestOwnFollowsNoLink is the attack "key": the user of the daemon, who owns the folder of the keys,
// puts a link to a file of root in the place of a new key.
func TestOwnFollowsNoLink(t *testing.T) {
	testenv.Root(t)
	dir := testenv.Dir(t)
	secret, key, like := filepath.Join(dir, "shadow"), filepath.Join(dir, "federation.key"), filepath.Join(dir, "daemon")
	for _, path := range []string{secret, like} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(secret, key), os.Chown(like, 12345, 12345), own(key, like)); err != nil {
		t.Fatal(err)
	}
	if uid, _, _ := change.Owner(secret); uid != 0 {
		t.Errorf("the file of root belongs to user %d", uid)
	}
}
