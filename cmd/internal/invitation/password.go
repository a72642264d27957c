package invitation

import (
	"errors"
	"net/url"
	"strings"
)

// errOpaqueURL is the error for a URL whose password cannot be found with certainty.
var errOpaqueURL = errors.New("URL of Redis cannot be split into its parts; escape special characters in its password (%40 for @)")

// WithoutPassword returns a URL of Redis without its password, and whether it had one.
func WithoutPassword(spec string) (clear string, had bool, err error) {
	u, hosts, err := split(spec)
	if err != nil {
		return "", false, err
	}
	if u.User != nil {
		_, had = u.User.Password()
		if u.User.Username() == "" {
			u.User = nil
		} else {
			u.User = url.User(u.User.Username())
		}
	}
	query := u.Query()
	if query.Get("password") != "" { // that of the server behind sentinels
		if had {
			return "", false, errors.New("URL of Redis contains two passwords, which a line cannot; give the other site the whole URL")
		}
		query.Del("password")
		u.RawQuery, had = query.Encode(), true
	}
	return join(u, hosts), had, nil
}

// WithPassword returns a URL with the password that WithoutPassword removed. The password of
// sentinels is not supported.
func WithPassword(clear, password string) (string, error) {
	u, hosts, err := split(clear)
	if err != nil {
		return "", err
	}
	if query := u.Query(); query.Has("master_name") {
		query.Set("password", password)
		u.RawQuery = query.Encode()
	} else {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	return join(u, hosts), nil
}

// IsLocal reports whether a URL leads to the machine on which it is used.
func IsLocal(spec string) bool {
	u, _, err := split(spec)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return u.Scheme == "unix" || host == "" || host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// split parses a URL. hosts are those after the first one of several, with a comma before.
func split(spec string) (u *url.URL, hosts string, err error) {
	scheme, rest, found := strings.Cut(spec, "://")
	if !found || scheme != "redis" && scheme != "rediss" && scheme != "unix" {
		return nil, "", errOpaqueURL
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if at := strings.IndexByte(authority, ','); at >= 0 {
		hosts = authority[at:]
		rest = authority[:at] + rest[len(authority):]
	}
	u, err = url.Parse(scheme + "://" + rest)
	if err != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment+hosts, "@") {
		return nil, "", errOpaqueURL // no error of net/url: it quotes the password
	}
	return u, hosts, nil
}

func join(u *url.URL, hosts string) string {
	u.Host += hosts
	return u.String()
}
