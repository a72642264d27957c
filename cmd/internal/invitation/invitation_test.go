package invitation_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/invitation"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// key returns the signing key of a site of the tests.
func key(site string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, site)
	return ed25519.NewKeyFromSeed(seed)
}

func peer(site string) invitation.Peer {
	return invitation.Peer{Name: site, Key: keyring.PublicKey(key(site))}
}

func request(t *testing.T, site string) invitation.Request {
	t.Helper()
	line, err := invitation.NewRequest(site, key(site))
	testenv.Check(t, err)
	r, err := invitation.ParseRequest(line)
	testenv.Check(t, err)
	return r
}

var federation = [32]byte{7}

func open() *invitation.Invitation {
	return &invitation.Invitation{
		Peer: peer("mx1"), Federation: keyring.ID(federation), Redis: "rediss://spambloom@redis.example.org:6379/0", Missing: true,
		CA:         "-----BEGIN CERTIFICATE-----\n",
		Parameters: invitation.Parameters{Period: "168h0m0s", Keep: 5, Capacity: 1_000_000, MaxErrorPerMail: 1e-6},
		Peers:      []invitation.Peer{peer("mx3")},
	}
}

func sealed(t *testing.T, for_ string) string {
	t.Helper()
	i := open()
	testenv.Check(t, i.Seal(request(t, for_), invitation.Secret{Key: federation, Redis: "rediss://spambloom:geheim@redis.example.org:6379/0"}))
	line, err := i.Line(key("mx1"))
	testenv.Check(t, err)
	return line
}

// The site that an invitation was made for reads the federation key from it; nobody else.
func TestInvitation(t *testing.T) {
	line := sealed(t, "mx2")
	if strings.ContainsAny(line, " \n") || invitation.IsRequest(line) || strings.Contains(line, "geheim") {
		t.Errorf("line %q", line)
	}
	wrapped := line[:70] + "\n> "[:1] + "  " + line[70:] + "\r\n"
	i, err := invitation.ParseInvitation(wrapped)
	testenv.Check(t, err)
	if want := open(); i.Peer != want.Peer || i.Redis != want.Redis || !i.Missing || i.CA != want.CA || i.Parameters != want.Parameters || !reflect.DeepEqual(i.Peers, want.Peers) || *i.For != peer("mx2") {
		t.Errorf("%+v", i)
	}
	secret, err := i.Unseal(key("mx2"))
	if err != nil || secret.Key != federation || secret.Redis != "rediss://spambloom:geheim@redis.example.org:6379/0" {
		t.Errorf("%+v, %v", secret, err)
	}
	if _, err := i.Unseal(key("mx3")); !errors.Is(err, invitation.ErrForOther) {
		t.Errorf("another site: %v", err)
	}
	i.For.Key = keyring.PublicKey(key("mx3"))
	if _, err := i.Unseal(key("mx3")); err == nil {
		t.Error("another site that claims the invitation reads it")
	}
}

// The sealed part does not open in another invitation, such as one with another Redis.
func TestSealIsBound(t *testing.T) {
	i, err := invitation.ParseInvitation(sealed(t, "mx2"))
	testenv.Check(t, err)
	i.Redis = "redis://elsewhere.example.net:6379/0"
	if _, err := i.Unseal(key("mx2")); err == nil {
		t.Error("opened beside another Redis")
	}
}

// A line that was cut, changed, or made by somebody else is refused by its cause.
func TestWrongLines(t *testing.T) {
	line, err := invitation.NewRequest("mx2", key("mx2"))
	testenv.Check(t, err)
	flipped := line[:len(line)-20] + "A" + line[len(line)-19:]
	if flipped == line {
		flipped = line[:len(line)-20] + "B" + line[len(line)-19:]
	}
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"empty": {"", invitation.ErrNoLine}, "other text": {"hello", invitation.ErrNoLine},
		"cut": {line[:len(line)-8], invitation.ErrTorn}, "changed": {flipped, invitation.ErrTorn},
		"prefix only": {"spambloom-request-1:", invitation.ErrTorn},
		"newer":       {strings.Replace(line, "-1:", "-2:", 1), invitation.ErrNewer},
		"invitation":  {sealed(t, "mx2"), invitation.ErrNoLine},
		"huge":        {line + strings.Repeat(" ", 1<<20), invitation.ErrInvalid},
	} {
		if _, err := invitation.ParseRequest(c.line); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := invitation.NewRequest("mx 2", key("mx2")); !errors.Is(err, invitation.ErrInvalid) {
		t.Errorf("site name: %v", err)
	}
	for name, change := range map[string]func(*invitation.Invitation){
		"two sites of a name": func(i *invitation.Invitation) { i.Peers = append(i.Peers, peer("mx1")) },
		"no Redis":            func(i *invitation.Invitation) { i.Redis = "" },
		"long CA":             func(i *invitation.Invitation) { i.CA = strings.Repeat("x", 5<<10) },
		"key id":              func(i *invitation.Invitation) { i.Federation = "abc" },
		"no parameters":       func(i *invitation.Invitation) { i.Parameters = invitation.Parameters{} },
		"sealed for nobody":   func(i *invitation.Invitation) { i.Sealed = []byte("x") },
		"many peers":          func(i *invitation.Invitation) { i.Peers = make([]invitation.Peer, 33) },
	} {
		i := open()
		change(i)
		if _, err := i.Line(key("mx1")); !errors.Is(err, invitation.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	forged, err := open().Line(key("mx9"))
	testenv.Check(t, err)
	if _, err := invitation.ParseInvitation(forged); !errors.Is(err, invitation.ErrForged) {
		t.Errorf("signed with another key: %v", err)
	}
}

// The password leaves the URL, and returns to the same place.
func TestPassword(t *testing.T) {
	for _, c := range []struct {
		url, clear string
		had        bool
	}{
		{"redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0", false},
		{"rediss://spambloom:s%40e:c@redis.example.org:6379/0", "rediss://spambloom@redis.example.org:6379/0", true},
		{"redis://:geheim@h:1", "redis://h:1", true},
		{"redis://u:geheim@h1:1,h2:2", "redis://u@h1:1,h2:2", true},
		{"redis://h1:1,h2:2/0?master_name=m&password=geheim", "redis://h1:1,h2:2/0?master_name=m", true},
		{"unix://u:geheim@/run/redis.sock?db=1", "unix://u@/run/redis.sock?db=1", true},
	} {
		clear, had, err := invitation.WithoutPassword(c.url)
		if err != nil || clear != c.clear || had != c.had {
			t.Errorf("%s: %s, %v, %v", c.url, clear, had, err)
		}
		if !c.had {
			continue
		}
		back, err := invitation.WithPassword(clear, "s@e:c/ret")
		if err != nil {
			t.Error(err)
		}
		if again, had, err := invitation.WithoutPassword(back); err != nil || !had || again != c.clear {
			t.Errorf("%s became %s (%v)", c.clear, back, err)
		}
	}
	for _, bad := range []string{"", "geheim", "http://u:geheim@h", "redis://u:ge@heim@h/a@b", "redis://u:geheim@h1,u:geheim@h2", "redis://u:%zz@h", "redis://u:geheim@h1:1?master_name=m&password=geheim"} {
		if clear, _, err := invitation.WithoutPassword(bad); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %s, %v", bad, clear, err)
		}
	}
	for url, want := range map[string]bool{"redis://127.0.0.1:1": true, "redis://localhost": true, "unix:///s": true, "redis://[::1]:1": true, "redis://10.0.0.1:1": false, "rediss://u:p@h.example:1": false} {
		if invitation.IsLocal(url) != want {
			t.Errorf("IsLocal(%s)", url)
		}
	}
}

// Nothing from outside panics, and what is accepted is written again as the same line's
// content.
func FuzzParse(f *testing.F) {
	lines, err := filepath.Glob("testdata/*.line")
	if err != nil || len(lines) == 0 {
		f.Fatal("no lines in testdata", err)
	}
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(line))
	}
	f.Add(`{"name":"mx1","key":"ed25519:GX9rI+FshTLGq8g4+s1eqmN5t8KA7pUzX4AZCV1GW/g=","federation":"0123456789abcdef","redis":"redis://h","parameters":{}}`)
	f.Fuzz(func(t *testing.T, line string) {
		if strings.HasPrefix(line, "{") { // the text of a line, without its checksum and signature
			line = invitation.Signed(line, key("mx1"))
		}
		if r, err := invitation.ParseRequest(line); err == nil && r.Fingerprint() == "-" {
			t.Errorf("accepted %+v", r)
		}
		i, err := invitation.ParseInvitation(line)
		if err != nil {
			return
		}
		if _, err := i.Line(key("mx1")); err != nil {
			t.Errorf("accepted what it does not write: %v", err)
		}
		i.Unseal(key("mx2"))
	})
}

// The committed lines are read by every later version.
func TestCommittedLines(t *testing.T) {
	text := func(name string) string {
		line, err := os.ReadFile(filepath.Join("testdata", name))
		testenv.Check(t, err)
		return string(line)
	}
	if r, err := invitation.ParseRequest(text("request.line")); err != nil || r.Peer != peer("mx2") {
		t.Errorf("%+v, %v", r, err)
	}
	i, err := invitation.ParseInvitation(text("sealed.line"))
	testenv.Check(t, err)
	if s, err := i.Unseal(key("mx2")); err != nil || s.Key != federation {
		t.Errorf("%+v, %v", s, err)
	}
	if i, err := invitation.ParseInvitation(text("open.line")); err != nil || i.For != nil {
		t.Errorf("%+v, %v", i, err)
	}
}
