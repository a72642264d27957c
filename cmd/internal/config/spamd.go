package config

import (
	"fmt"
	"io/fs"
)

// spamdSection is for the protocol of SpamAssassin's spamd.
const spamdSection = "spamd"

var spamdKeys = []key{
	{section: spamdSection, name: "listen", def: []any{}, example: []any{"unix:/run/spambloom/spamd.sock", "inet:783@127.0.0.1"},
		kind: texts(func(c *Config) *[]string { return &c.Spamd.Listen }, `addresses such as "unix:/run/spambloom/spamd.sock" or "inet:783@127.0.0.1"`),
		doc:  "Addresses to listen on, as in milter.listen; TCP on this machine only, because\nthe protocol has no passwords. Sockets from systemd named spamd replace them.\nEmpty: off."},
	{section: spamdSection, name: "group", def: "", example: "Debian-exim",
		kind: text(func(c *Config) *string { return &c.Spamd.Group }, "the name of a group"),
		doc:  "Group of the unix sockets in listen. Default: control.group."},
	{section: spamdSection, name: "socket_mode", def: "0660",
		kind: mode(func(c *Config) *fs.FileMode { return &c.Spamd.SocketMode }),
		doc:  "Mode of the unix sockets in listen. Connecting requires write permission."},
	{section: spamdSection, name: "threshold", def: 5.0, live: true,
		kind: weight(func(c *Config) *float64 { return &c.Spamd.Threshold }, 0.1, 1000),
		doc:  "Score from which clients take a message for spam."},
	{section: spamdSection, name: "spam_score", def: 10.0, live: true,
		kind: weight(func(c *Config) *float64 { return &c.Spamd.SpamScore }, 0.1, 1000),
		doc:  "Score of spam."},
	{section: spamdSection, name: "bulk_score", def: 0.0, live: true,
		kind: weight(func(c *Config) *float64 { return &c.Spamd.BulkScore }, 0, 1000),
		doc:  "Score of bulk. All other mail has the score 0, also mail that could not be\njudged."},
	{section: spamdSection, name: "max_connections", def: int64(200), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Spamd.MaxConnections }, 1, 100_000),
		doc:  "Maximum number of connections. Further ones are closed at once."},
	{section: spamdSection, name: "max_connections_per_client", def: int64(100), live: true,
		kind: integer(func(c *Config) *int64 { return &c.Spamd.MaxConnectionsPerClient }, 0, 100_000),
		doc:  "Maximum number of connections from one user over unix sockets, and over TCP\nfrom all users together. 0: only max_connections applies."},
}

// checkSpamd rejects a score of spam that no client takes for spam.
func (f *file) checkSpamd() {
	s := f.config.Spamd
	if s.SpamScore >= s.Threshold {
		return
	}
	path := "spamd.spam_score"
	if f.lines[path] == 0 {
		path = "spamd.threshold"
	}
	f.fault(f.lines[path], path, fmt.Errorf("spam_score is %v, less than threshold, which is %v: no mail would be spam", s.SpamScore, s.Threshold))
}
