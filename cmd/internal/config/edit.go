package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// Change is a new value for a key ("redis.url"): a string, an int64, a float64 or a list as
// []any. Without a value, the key's line is removed, which sets its default.
type Change struct {
	Key   string
	Value any
}

// errEdit is the error for a file whose form Edit does not understand.
var errEdit = errors.New("the file cannot be changed automatically; change it by hand")

// Edit returns the text of a configuration file with changed values, and with further peers.
// Comments and the order of the file remain. The result is read again: if anything but the
// changes differs, such as in a file with inline tables, Edit fails. Path is used in errors.
func Edit(path, text string, changes []Change, peers []Peer) (string, error) {
	before, err := parse(path, text)
	if err != nil {
		return "", err
	}
	edited := text
	for _, c := range slices.Backward(changes) { // each goes to the beginning of its section
		edited = set(edited, c)
	}
	for _, p := range peers {
		edited = withBreak(edited) + peerTable(p)
	}
	after, err := parse(path, edited)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", path, errEdit, describe(changes, peers))
	}
	wanted, err := expected(before, text, path, changes, peers)
	if err != nil {
		return "", err
	}
	if live, restart := after.Changed(wanted); len(live)+len(restart) > 0 {
		return "", fmt.Errorf("%s: %w: %s", path, errEdit, describe(changes, peers))
	}
	return edited, nil
}

// expected returns the configuration that the edited file must have.
func expected(before *Config, text, path string, changes []Change, peers []Peer) (*Config, error) {
	c, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		kind, value := lookup(change.Key).kind, change.Value
		if value == nil {
			value = kind.get(Default())
		}
		if err := kind.set(c, value); err != nil {
			return nil, fmt.Errorf("%s: %w", change.Key, err)
		}
	}
	for _, p := range peers {
		if slices.ContainsFunc(before.Peers, func(q Peer) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("%s: there is a [[peer]] %q already", path, p.Name)
		}
		if p.Trust == "" {
			p.Trust = "full"
		}
		c.Peers = append(c.Peers, p)
	}
	return c, nil
}

// describe lists the changes for somebody who makes them by hand. Of redis.url it shows no
// password.
func describe(changes []Change, peers []Peer) string {
	var parts []string
	for _, c := range changes {
		if c.Value == nil {
			parts = append(parts, "without "+c.Key)
			continue
		}
		shown := value.Literal(c.Value)
		if url, ok := c.Value.(string); ok && c.Key == "redis.url" {
			shown = value.Literal(RedisShown(url))
		}
		parts = append(parts, c.Key+" = "+shown)
	}
	for _, p := range peers {
		parts = append(parts, fmt.Sprintf("a [[peer]] for %s", p.Name))
	}
	return strings.Join(parts, ", ")
}

var header = regexp.MustCompile(`^\s*\[\[?\s*([A-Za-z_.]+)\s*\]\]?\s*(#.*)?$`)

// set sets one key: in place of its line, after the line that documents it, at the beginning
// of its section, or in a new section at the end.
func set(text string, c Change) string {
	section, name, _ := strings.Cut(c.Key, ".")
	line := name + " = "
	if c.Value != nil {
		line += value.Literal(c.Value)
	}
	own := regexp.MustCompile(`^(\s*)` + regexp.QuoteMeta(name) + `\s*=`)
	comment := regexp.MustCompile(`^\s*#\s*` + regexp.QuoteMeta(name) + `\s*=`)
	lines := strings.Split(text, "\n")
	in, at, after := false, -1, -1
	for i, l := range lines {
		if m := header.FindStringSubmatch(l); m != nil {
			in = m[1] == section && !strings.Contains(m[0], "[[")
			if in && after < 0 {
				after = i
			}
			continue
		}
		switch {
		case in && own.MatchString(l):
			at = i
		case in && comment.MatchString(l):
			after = i
		}
	}
	switch {
	case at >= 0 && c.Value == nil:
		lines = slices.Delete(lines, at, at+1)
	case c.Value == nil:
	case at >= 0:
		lines[at] = line
	case after >= 0:
		lines = slices.Insert(lines, after+1, line)
	default:
		return withBreak(text) + "[" + section + "]\n" + line + "\n"
	}
	return strings.Join(lines, "\n")
}

// withBreak returns a text that ends with an empty line, if it is not empty.
func withBreak(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n\n"
}

func peerTable(p Peer) string {
	table := fmt.Sprintf("[[peer]]\nname = %q\nkey = %q\n", p.Name, p.Key)
	if p.Trust != "" && p.Trust != "full" {
		table += fmt.Sprintf("trust = %q\n", p.Trust)
	}
	return table
}
