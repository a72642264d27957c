package config

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// DefaultPath is the file that the daemon reads by default.
const DefaultPath = "/etc/spambloom/spambloom.toml"

// maxFile bounds the size of a configuration file, in bytes.
const maxFile = 1 << 20

// Config contains a valid value for every key. The fields are documented by the table in
// keys.go, from which contrib/spambloom.toml is generated.
type Config struct {
	Site struct {
		Name          string // "": the host name
		FederationKey string // "": federation.key in the state folder
		PreviousKey   string // "": none
		SigningKey    string // "": site.key in the state folder
	}
	Milter struct {
		Listen            []string
		LocalNetworks     []netip.Prefix
		SkipAuthenticated bool
		SpamFlag          string // "": none
		MaxMessage        int64  // bytes
		Oversize          string // judge, skip

		OnFailure                       string // accept, tempfail
		OnOverload, OnError, OnDeadline string // "": as OnFailure

		Group      string // "": Control.Group
		SocketMode fs.FileMode

		AuthservID string // "": none
		Whiteclnt  string // "": none

		MaxConnections          int64
		MaxConnectionsPerClient int64 // 0: no limit
		IdleTimeout             time.Duration
		ContentTimeout          time.Duration
		WriteTimeout            time.Duration
		JudgeTimeout            time.Duration
		ConnectionTimeout       time.Duration
		MaxMemory               int64  // bytes
		OverMemory              string // head, spill
		Grace                   time.Duration
	}
	Spamd struct {
		Listen     []string // empty: off
		Group      string   // "": Control.Group
		SocketMode fs.FileMode

		Threshold, SpamScore, BulkScore float64

		MaxConnections          int64
		MaxConnectionsPerClient int64 // 0: no limit
	}
	Actions struct {
		Spam, Bulk, Clean string

		SpamPhish, SpamScam, SpamMalware, SpamBulk string // "": as Spam
	}
	Bulk struct {
		Threshold     int64
		Period        time.Duration
		Keep          int64
		Capacity      int64
		Count         string         // recipients, messages
		CountNetworks []netip.Prefix // MTAs whose recipients count
		Burst         time.Duration

		Greylist     bool
		GreylistFrom int64
	}
	Reports struct {
		Quorum          float64
		NewcomerWeight  float64
		WeightFloor     float64
		WeightCeiling   float64
		WeightHalfLife  time.Duration
		HoldFrom        int64
		MaxPerHour      int64
		Votes           int64
		Period          time.Duration
		Keep            int64
		Capacity        int64
		MaxErrorPerMail float64
		Classes         bool
		Sketches        bool
		Shapes          bool
		Commonness      bool
	}
	Domains struct {
		Alone      bool
		Campaigns  int64
		NeverAlone []string
	}
	Redis struct {
		URL           string // "": no exchange
		CA            string // "": the system's CAs
		Cert, Key     string // "": none
		SnapshotLimit int64  // bytes
	}
	Peers    []Peer
	Policies []Policy
	Allow    []Allow
	Traps    []Trap
	Control  struct {
		Listen    string // "": chosen by the commands
		Group     string // "": unchanged
		Delegates []string

		Remote                string // "": none
		RemoteCert, RemoteKey string
		RemoteClientsCA       string // "": no access by certificate
		RemoteTokens          string // "": no access by token
	}
	HTTP struct {
		Listen string // "": none
		Names  []string
	}
	Log struct {
		Level, Format string
		Privacy       bool
	}

	where map[string]string // key -> "file:line: key" or "--flag", where it was set
}

// Peer is one [[peer]] table, for another site.
type Peer struct {
	Name       string
	Key        string // ed25519:BASE64; "": none
	NextKey    string // "": none
	Trust      string // full, vote, none
	MaxReports int64  // 0: the default
	MaxCounts  int64  // 0: the default
}

// Policy is one [[policy]] table, for part of the mail.
type Policy struct {
	Name       string
	Recipients []string // user@example.org, lower case
	Domains    []string // of recipients: example.org or .example.org, lower case
	Listeners  []string // as in Milter.Listen, or names of systemd's sockets

	Spam, Bulk, Clean                          string // "": inherited
	SpamPhish, SpamScam, SpamMalware, SpamBulk string // "": inherited

	BulkThreshold int64 // 0: inherited
}

// Allow is one [[allow]] table, for mail that is always delivered. An empty condition is
// not set.
type Allow struct {
	Name       string
	Networks   []netip.Prefix // of the client
	Senders    []string       // envelope sender: patterns of addresses, lower case
	From       []string       // header From, authenticated: patterns of addresses, lower case
	ListIDs    []string       // lower case, without brackets
	Recipients []string       // patterns of addresses, lower case
	Listeners  []string       // as in Milter.Listen, or names of systemd's sockets
}

// Trap is one [[trap]] table, for a Maildir that receives only spam.
type Trap struct {
	Name    string
	Maildir string // absolute
	Class   string // phish, scam, malware, bulk, other
}

// Default returns the configuration of an empty file.
func Default() *Config {
	c := &Config{where: make(map[string]string)}
	for _, k := range keys {
		if !isList(k.section) {
			k.setDefault(c)
		}
	}
	return c
}

func (k key) setDefault(c *Config) {
	if err := k.kind.set(c, k.def); err != nil {
		panic(fmt.Sprintf("default of %s: %v", k.path(), err))
	}
}

// Load reads a file. Its error joins all errors in the file, one line each, in the form
// "file:line: key: error; allowed: ...".
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return parse(path, string(text))
}

// Override sets a key ("milter.listen") from outside the file, such as from a flag, whose
// name is used in errors. The value is checked like that of the file: a string, or a
// []string for a list.
func (c *Config) Override(path, flag string, value any) error {
	k := lookup(path)
	if list, ok := value.([]string); ok {
		anys := make([]any, len(list))
		for i, s := range list {
			anys[i] = s
		}
		value = anys
	}
	if err := k.kind.set(c, value); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	c.where[path] = flag
	return nil
}

// redisVariable is the environment variable that Environment reads.
const redisVariable = "SPAMBLOOM_REDIS"

// Environment sets redis.url to SPAMBLOOM_REDIS, if that is set. Unlike the flag, other users of the machine do not see
// a password in it.
func (c *Config) Environment() error {
	url := os.Getenv(redisVariable)
	if url == "" {
		return nil
	}
	return c.Override("redis.url", redisVariable, url)
}

// Where returns the source of a key's value, as the beginning of an error: "file:line:
// key", the name of a flag, or "default of key".
func (c *Config) Where(path string) string {
	if w, ok := c.where[path]; ok {
		return w
	}
	return "default of " + lookup(path).path()
}

// WherePeer is Where for a key of c.Peers[i]. For a key that was not set, it returns the
// place of the table.
func (c *Config) WherePeer(i int, name string) string { return c.whereTable(peerSection, i, name) }

// WherePolicy is WherePeer for c.Policies[i].
func (c *Config) WherePolicy(i int, name string) string { return c.whereTable(policySection, i, name) }

// WhereAllow is WherePeer for c.Allow[i].
func (c *Config) WhereAllow(i int, name string) string { return c.whereTable(allowSection, i, name) }

func (c *Config) whereTable(section string, i int, name string) string {
	if w, ok := c.where[tableKey(section, i, name)]; ok {
		return w
	}
	return c.where[tableKey(section, i, "")]
}

// Effective returns every key with its value, for the log, without passwords. Of list
// sections it contains only the names, because policies and rules contain personal
// addresses.
func (c *Config) Effective() []slog.Attr {
	attrs := make([]slog.Attr, 0, len(keys))
	for _, k := range keys {
		if !isList(k.section) {
			attrs = append(attrs, slog.String(k.path(), c.shown(k)))
		}
	}
	return append(attrs,
		slog.String(peerSection, joined(c.Peers, func(p Peer) string { return p.Name + " " + p.Trust })),
		slog.String(policySection, joined(c.Policies, func(p Policy) string { return p.Name })),
		slog.String(allowSection, joined(c.Allow, func(a Allow) string { return a.Name })),
		slog.String(trapSection, joined(c.Traps, func(t Trap) string { return t.Name + " " + t.Maildir })))
}

// Different returns the entries of Effective that differ from the defaults.
func (c *Config) Different() []slog.Attr {
	usual := Default().Effective()
	different := make([]slog.Attr, 0, 8)
	for i, a := range c.Effective() {
		if !a.Equal(usual[i]) {
			different = append(different, a)
		}
	}
	return different
}

// shown returns the value of a key for the log.
func (c *Config) shown(k key) string {
	if k.path() == "redis.url" {
		return RedisShown(c.Redis.URL)
	}
	return value.Plain(k.kind.get(c))
}

func joined[T any](list []T, show func(T) string) string {
	parts := make([]string, 0, len(list))
	for _, e := range list {
		parts = append(parts, show(e))
	}
	return strings.Join(parts, ", ")
}

// Changed returns the keys whose values differ from old's: those that a running daemon can
// apply, and those that need a restart.
func (c *Config) Changed(old *Config) (live, restart []string) {
	for _, k := range keys {
		if isList(k.section) || reflect.DeepEqual(k.kind.get(c), k.kind.get(old)) {
			continue
		}
		if k.live {
			live = append(live, k.path())
		} else {
			restart = append(restart, k.path())
		}
	}
	for _, list := range []struct {
		section string
		same    bool
		changed *[]string
	}{
		{peerSection, slices.Equal(c.Peers, old.Peers), &restart},
		{policySection, reflect.DeepEqual(c.Policies, old.Policies), &live},
		{allowSection, reflect.DeepEqual(c.Allow, old.Allow), &live},
		{trapSection, slices.Equal(c.Traps, old.Traps), &restart},
	} {
		if !list.same {
			*list.changed = append(*list.changed, list.section)
		}
	}
	return live, restart
}
