package redisclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeouts used if the URL sets none. They bound how long Run takes to return on a link
// that swallows everything.
const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 3 * time.Second // for one answer, or for one write
	poolSize    = 4               // the publisher, the follower, and one spare

	// clusterReload is the maximum age of a cluster's node list while commands are sent.
	// The client reloads the list when a node redirects it, but not when a node is dead.
	clusterReload = 2 * time.Second
)

// noRetries disables the client's retries: our loops retry, and further retries would only
// make them wait longer.
const noRetries = -1

// Dial returns a client for a URL. It does not connect; Run detects a Redis that is down.
//
//	redis://USER:PASSWORD@HOST:PORT/DB      one server; rediss:// with TLS
//	unix:///PATH?db=N                       one server by its socket
//	redis://HOST:PORT,HOST:PORT,...         a cluster's nodes
//	redis://HOST:PORT,.../DB?master_name=M  all sentinels; USER and PASSWORD are
//	                                        theirs, ?username= and ?password= the server's
//
// Further parameters are those of redis.ParseURL, redis.ParseClusterURL and
// redis.ParseFailoverURL. Dial reads the files of the options. No error contains the
// password. The caller closes the client.
func Dial(rawURL string, o Options) (*Client, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	c, err := dial(rawURL, o)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w", withoutSecret(err, rawURL))
	}
	return c, nil
}

// errAmbiguous is the error for a URL that cannot be split with certainty. The library's
// error might quote part of the password.
var errAmbiguous = errors.New("cannot be read: the port must be a number; in user and password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F, % as %25")

// errParameters is the error for a URL with a password among its parameters. The library's error might
// quote what follows an & in it.
var errParameters = errors.New("a parameter is wrong; in a password write & as %26, # as %23, % as %25, + as %2B, ; as %3B")

// errNode is the error for a further node with user and password. The library would take them for its host.
var errNode = errors.New("addr must be HOST:PORT: user and password stand only before the first host, and apply to all nodes")

// errDatabase is the error for a database that is no number. It may be a password, which the library's error would quote.
var errDatabase = errors.New("the database must be a number; a password stands before the host: redis://USER:PASSWORD@HOST:PORT/0")

// withoutSecret returns the error for a URL without any text that may be a password.
func withoutSecret(err error, rawURL string) error {
	if errors.Is(err, errNode) {
		return err
	}
	first, more := splitHosts(rawURL)
	u, parseErr := url.Parse(first)
	if parseErr != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment+strings.Join(more, ""), "@") {
		return errAmbiguous
	}
	if strings.Contains(strings.ToLower(u.RawQuery), "password=") {
		return errParameters
	}
	return err
}

func dial(rawURL string, files Options) (*Client, error) {
	first, more := splitHosts(rawURL)
	u, err := url.Parse(first)
	if err != nil {
		return nil, err
	}
	// A password with such a character would be read as a host, followed by a path or a fragment, which errors
	// show.
	if u.Fragment != "" || u.Opaque != "" || u.Scheme == "unix" && (u.Host != "" || strings.Contains(u.EscapedPath(), "@")) {
		return nil, errAmbiguous
	}
	query := u.Query()
	for _, host := range more {
		query.Add("addr", host)
	}
	u.RawQuery = query.Encode()
	if err := cmp.Or(checkNodes(query), checkDatabase(u, query), checkCounts(query)); err != nil {
		return nil, err
	}
	switch {
	case query.Has("master_name"):
		return dialSentinels(u.String(), files)
	case len(query["addr"]) > 0:
		if strings.Trim(u.Path, "/0") != "" {
			return nil, fmt.Errorf("a cluster has no database %s", u.Path)
		}
		u.Path = ""
		return dialCluster(u.String(), files)
	default:
		return dialServer(u.String(), files)
	}
}

// checkNodes refuses a user or password at a further node, and what is no node and may be one of them.
func checkNodes(query url.Values) error {
	isOdd := func(node string) bool { return strings.ContainsAny(node, "@/") || strings.HasPrefix(node, ":") }
	if slices.ContainsFunc(query["addr"], isOdd) {
		return errNode
	}
	return nil
}

// checkDatabase refuses a database that is no number, behind the slash or as a parameter. The path of unix is its socket.
func checkDatabase(u *url.URL, query url.Values) error {
	numbers := query["db"]
	if u.Scheme != "unix" {
		numbers = append(numbers, strings.Trim(u.Path, "/"))
	}
	for _, number := range numbers {
		if _, err := strconv.Atoi(number); err != nil && number != "" {
			return errDatabase
		}
	}
	return nil
}

// maxCount bounds the connections and bytes in a URL's parameters: the library panics for others, or
// takes as much memory at once.
const maxCount = 1 << 20

func checkCounts(query url.Values) error {
	for name, values := range query {
		for _, v := range values {
			if n, err := strconv.Atoi(v); err == nil && isCount(name) && (n < 0 || n > maxCount) {
				return fmt.Errorf("%s=%d; allowed: 0 to %d", name, n, maxCount)
			}
		}
	}
	return nil
}

// isCount reports whether a parameter is a number of connections or bytes.
func isCount(name string) bool {
	return strings.HasSuffix(name, "_size") || strings.HasSuffix(name, "_conns") || strings.HasSuffix(name, "_dials")
}

// splitHosts removes the second and further hosts from the URL's authority.
func splitHosts(rawURL string) (first string, more []string) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok || scheme == "unix" {
		return rawURL, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts := rest[strings.LastIndex(rest[:end], "@")+1 : end]
	list := strings.Split(hosts, ",")
	begin := strings.TrimSuffix(rest[:end], hosts)
	return scheme + "://" + begin + list[0] + rest[end:], list[1:]
}

func dialServer(u string, files Options) (*Client, error) {
	o, err := redis.ParseURL(u)
	if err != nil {
		return nil, err
	}
	o.MaintNotificationsConfig = noMaintenance()
	return shared{o.TLSConfig, &o.Dialer, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolSize,
		&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled, &o.DisableIdentity}.
		client(files, func(*dialer) redis.UniversalClient { return redis.NewClient(o) })
}

func dialCluster(u string, files Options) (*Client, error) {
	o, err := redis.ParseClusterURL(u)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // each node's own name is used
	}
	o.ClusterStateReloadInterval = clusterReload
	o.MaintNotificationsConfig = noMaintenance()
	return shared{o.TLSConfig, &o.Dialer, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolSize,
		&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled, &o.DisableIdentity}.
		client(files, func(*dialer) redis.UniversalClient { return newCluster(o) })
}

func dialSentinels(u string, files Options) (*Client, error) {
	o, err := redis.ParseFailoverURL(u)
	if err != nil {
		return nil, err
	}
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = ""
	}
	var list *sentinels
	c, err := shared{o.TLSConfig, &o.Dialer, &o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolSize,
		&o.MaxRetries, &o.DialerRetries, &o.ContextTimeoutEnabled, &o.DisableIdentity}.
		client(files, func(d *dialer) redis.UniversalClient {
			list = newSentinels(o, d)
			return redis.NewClient(primaryOptions(o, list.dial))
		})
	if err != nil {
		return nil, err
	}
	c.sentinels = list
	return c, nil
}

// shared contains the options common to servers, clusters and sentinels, for which the
// library has three types.
type shared struct {
	tls                 *tls.Config // nil: without TLS
	dialer              *func(ctx context.Context, network, address string) (net.Conn, error)
	dial, read, write   *time.Duration
	pool                *int
	retries, dials      *int
	contexts, anonymous *bool
}

// client sets the options and creates the client.
func (s shared) client(files Options, connect func(*dialer) redis.UniversalClient) (*Client, error) {
	if err := files.apply(s.tls); err != nil {
		return nil, err
	}
	*s.dial = cmp.Or(*s.dial, dialTimeout)
	*s.read = cmp.Or(*s.read, ioTimeout)
	*s.write = cmp.Or(*s.write, ioTimeout)
	*s.pool = cmp.Or(*s.pool, poolSize)
	*s.retries, *s.dials = noRetries, 1
	*s.contexts = true
	*s.anonymous = true // CLIENT SETINFO needs another permission
	d := newDialer(*s.dial, s.tls)
	*s.dialer = d.dial
	return newClient(d, connect), nil
}

// noMaintenance disables a handshake command that only Redis' own cloud supports and that
// needs further permissions.
func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Logger sends the Redis client's own log lines to slog, at level debug. Package link logs the
// relevant ones itself. The client has one logger for the whole process, so the command
// sets it:
//
//	redis.SetLogger(redisclient.Logger{Log: log})
type Logger struct{ Log *slog.Logger }

// Printf logs one line of the client.
func (l Logger) Printf(ctx context.Context, format string, v ...any) {
	if l.Log.Enabled(ctx, slog.LevelDebug) {
		l.Log.DebugContext(ctx, WithoutArguments(fmt.Sprintf(format, v...)), "client", "redis")
	}
}

// arguments begins the part of an error in which Redis repeats the arguments of a command that it
// does not know, such as the password of a renamed AUTH, or of HELLO before Redis 6.
var arguments = regexp.MustCompile(`(?s),? with args beginning with:.*`)

// WithoutArguments returns the text of an error of Redis without the arguments of the command, which
// may be user and password.
func WithoutArguments(text string) string { return arguments.ReplaceAllLiteralString(text, "") }
