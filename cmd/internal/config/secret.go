package config

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces a secret in logs and errors.
const hidden = "***"

// RedisShown returns a Redis URL without user, password and parameters, for display. A URL
// that cannot be split with certainty, such as one with "@" or "/" in its password, is
// reduced to its scheme.
func RedisShown(spec string) string {
	if spec == "" {
		return ""
	}
	scheme, rest, found := strings.Cut(spec, "://")
	if !found {
		return hidden
	}
	// Several hosts are separated by commas, possibly each with its own user.
	head, more, _ := strings.Cut(rest, ",")
	u, err := url.Parse(scheme + "://" + head)
	if err != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment+more, "@") {
		return scheme + "://" + hidden
	}
	user, query := "", ""
	if u.User != nil {
		user = hidden + "@"
	}
	if strings.ContainsAny(rest, "?#") {
		query = "?" + hidden
	}
	hosts, _, _ := strings.Cut(more, "?")
	if hosts != "" {
		hosts = "," + hosts
	}
	return scheme + "://" + user + u.Host + u.Path + hosts + query
}

// ofURL matches a line that sets redis.url.
var ofURL = regexp.MustCompile(`^\s*(redis\s*\.\s*)?url\s*=|\{.*\burl\s*=`)

// quoted matches quoted parts of the file in an error of the TOML decoder.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"|: .*`)

// withoutSecret returns the message of a syntax error on a line, without any possible part
// of a password.
func withoutSecret(message, line string) string {
	if !ofURL.MatchString(line) {
		return message
	}
	return quoted.ReplaceAllLiteralString(message, hidden)
}

// urlValue matches a URL of Redis: in double quotes, in single quotes, or up to the next space.
var urlValue = regexp.MustCompile(`(?i)"(rediss?|unix)://[^"]*|'(rediss?|unix)://[^']*|(rediss?|unix)://\S*`)

// quotedValue matches a value in quotes that is not empty.
var quotedValue = regexp.MustCompile(`"[^"]+"|'[^']+'`)

// WithoutURL returns a line of a configuration file for display, with RedisShown in place of
// URLs of Redis. Of a redis.url with another scheme, or without one, nothing is shown.
func WithoutURL(line string) string {
	if ofURL.MatchString(line) && !urlValue.MatchString(line) {
		return quotedValue.ReplaceAllLiteralString(line, `"`+hidden+`"`)
	}
	return urlValue.ReplaceAllStringFunc(line, func(found string) string {
		spec := strings.TrimLeft(found, `"'`)
		return found[:len(found)-len(spec)] + RedisShown(spec)
	})
}
