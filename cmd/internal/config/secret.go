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

// quotedCharacter matches one character of the file, or of TOML, in a message.
var quotedCharacter = regexp.MustCompile(`'\\?[^'\\]'|"'"`)

// withoutSecret returns the message of a syntax error on a line, up to what it quotes of the file: in any
// key, or a line further down, this may be a part of a password. Single characters and the names of keys
// remain, but for a line that sets redis.url.
func withoutSecret(message, line string) string {
	kept, begins := message, `'":`
	if !ofURL.MatchString(line) {
		if strings.HasPrefix(message, "Key '") {
			return message
		}
		kept = quotedCharacter.ReplaceAllStringFunc(message, func(c string) string { return strings.Repeat("_", len(c)) })
		begins = `'"0123456789`
	}
	switch i := strings.IndexAny(kept, begins); {
	case i < 0:
		return message
	case i == 0:
		return "invalid value " + hidden
	default:
		return message[:i] + hidden
	}
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
