package config

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// hidden takes the place of a secret in logs and errors.
const hidden = "***"

// redisURL is the kind of redis.url, which holds a password. No error shows its value.
func redisURL(field func(*Config) *string) kind {
	k := text(field, `a URL such as "redis://127.0.0.1:6379/0"`)
	parse := k.parse
	k.parse = func(c *Config, v any) error {
		if _, isText := v.(string); !isText {
			return errors.New("the value is not a text in quotes")
		}
		if parse(c, v) != nil {
			return errors.New("the value holds a control character")
		}
		return nil
	}
	return k
}

// RedisShown is a Redis URL without user, password and parameters, for people to
// read. A URL that cannot be taken apart with certainty, such as one with "@" or "/"
// in its password, shows its scheme only.
func RedisShown(spec string) string {
	if spec == "" {
		return ""
	}
	scheme, rest, found := strings.Cut(spec, "://")
	if !found {
		return hidden
	}
	// Several hosts are separated by commas, each with a user of its own perhaps.
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

// ofURL matches the line of the file that sets redis.url.
var ofURL = regexp.MustCompile(`^\s*(redis\s*\.\s*)?url\s*=|\{.*\burl\s*=`)

// quoted is a part of the file in an error of the TOML decoder.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"|: .*`)

// withoutSecret is the message of a syntax error on a line of the file, without what
// may be a part of a password.
func withoutSecret(message, line string) string {
	if !ofURL.MatchString(line) {
		return message
	}
	return quoted.ReplaceAllLiteralString(message, hidden)
}
