package credential

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// Bounds of a file of tokens, and the marks by which tokens and their digests differ from other
// texts. The 1 is the version of both.
const (
	maxTokenFile = 1 << 20 // bytes
	maxTokens    = 4096
	tokenMark    = "spambloom1-"
	digestMark   = "token1:"
)

// Tokens are the clients with a token. A client may have two, while one replaces the
// other.
type Tokens []clientToken

type clientToken struct {
	name   string
	digest signature.Digest
}

// NewToken returns a client's token of 256 random bits, and the line for the file of
// tokens. The line has only the digest, so that the file is of no use to a thief.
func NewToken(client string) (token, line string, err error) {
	if err := CheckClient(client); err != nil {
		return "", "", err
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	token = tokenMark + base64.RawURLEncoding.EncodeToString(secret)
	digest := tokenDigest(token)
	return token, client + " " + digestMark + hex.EncodeToString(digest[:]), nil
}

// HasToken reports whether a text contains a token.
func HasToken(text string) bool { return strings.Contains(text, tokenMark) }

// CheckToken returns an error if a token has anything but visible ASCII, which could not
// be sent. The error does not repeat the token. The empty token is allowed.
func CheckToken(token string) error {
	for _, b := range []byte(token) {
		if b <= ' ' || b > '~' {
			return errors.New("the token has a character that none has")
		}
	}
	return nil
}

// tokenDigests makes the digests. It needs no secret and no salt, because nobody guesses
// 256 random bits. The key keeps them apart from all other digests of the program.
var tokenDigests = signature.NewKeyed([]byte("spambloom client token, version 1"))

func tokenDigest(token string) signature.Digest { return tokenDigests.Sum([]byte(token)) }

// Proof shows that a client had a token, without the token.
type Proof struct{ of clientToken }

// Client returns the client's name; empty without a client.
func (p Proof) Client() string { return p.of.name }

// Prove returns the proof of a token. ok is false if it is no client's. It takes the same time
// for every token.
func (t Tokens) Prove(token string) (p Proof, ok bool) {
	digest := tokenDigest(token)
	for _, c := range t {
		if subtle.ConstantTimeCompare(c.digest[:], digest[:]) == 1 {
			p.of, ok = c, true
		}
	}
	return p, ok
}

// Holds reports whether the token of a proof is among these.
func (t Tokens) Holds(p Proof) bool { return slices.Contains(t, p.of) }

// CheckClient returns an error for a text that cannot be the name of a client. A name with
// a colon would look like a user without a name ("uid:0").
func CheckClient(name string) error {
	if name == "" {
		return errors.New("a client without a name")
	}
	if strings.Contains(name, ":") || name[0] == '#' {
		return fmt.Errorf("client %.100q: a name has no colon, and does not begin with #", name)
	}
	if err := api.CheckReporter(name); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// ReadTokens reads a file of tokens. Nobody but its owner may have the right to read it.
func ReadTokens(path string) (Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s: mode is %04o, must be 0600 or less (chmod 600 %s)", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list, err := parseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// parseTokens reads one client from each line: a name, a space, and the digest of its
// token. Empty lines and lines that begin with # are skipped. No error repeats a line,
// which may contain a token.
func parseTokens(text []byte) (list Tokens, err error) {
	if len(text) > maxTokenFile {
		return nil, fmt.Errorf("larger than %d bytes", maxTokenFile)
	}
	owners := make(map[signature.Digest]int)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		c, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first, twice := owners[c.digest]; twice {
			return nil, fmt.Errorf("line %d: the same token as on line %d", n, first)
		}
		if len(list) == maxTokens {
			return nil, fmt.Errorf("line %d: more than %d clients", n, maxTokens)
		}
		owners[c.digest] = n
		list = append(list, c)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return list, nil
}

func parseToken(line string) (c clientToken, err error) {
	fields := strings.Fields(line)
	if HasToken(line) {
		return c, errors.New("holds a token; here stands its digest, as spambloom token prints it")
	}
	if len(fields) != 2 {
		return c, fmt.Errorf("want NAME %sHEX, as spambloom token prints it", digestMark)
	}
	if err := CheckClient(fields[0]); err != nil {
		return c, err
	}
	digits, ok := strings.CutPrefix(fields[1], digestMark)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(c.digest) {
		return c, fmt.Errorf("want %s and 64 hex digits behind the name", digestMark)
	}
	return clientToken{fields[0], signature.Digest(raw)}, nil
}
