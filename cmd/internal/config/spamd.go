package config

import (
	"io/fs"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// spamdSection is for the protocol of SpamAssassin's spamd.
const spamdSection = "spamd"

var spamdKeys = []key{
	{section: spamdSection, name: "listen", def: []any{}, example: []any{"unix:/run/spambloom/spamd.sock", "inet:783@127.0.0.1"},
		kind: of(func(c *Config) *[]string { return &c.Spamd.Listen }, value.Texts(`addresses such as "unix:/run/spambloom/spamd.sock" or "inet:783@127.0.0.1"`)),
		doc:  "Addresses to listen on, as in milter.listen; TCP on this machine only, because\nthe protocol has no passwords. Sockets from systemd named spamd replace them.\nEmpty: off."},
	{section: spamdSection, name: "group", def: "", example: "Debian-exim",
		kind: of(func(c *Config) *string { return &c.Spamd.Group }, value.Text("the name of a group")),
		doc:  "Group of the unix sockets in listen; the daemon's user must be in it.\nDefault: control.group."},
	{section: spamdSection, name: "socket_mode", def: "0660",
		kind: of(func(c *Config) *fs.FileMode { return &c.Spamd.SocketMode }, value.Mode()),
		doc:  "Mode of the unix sockets in listen. Connecting requires write permission."},
	{section: spamdSection, name: "threshold", def: 5.0, live: true,
		kind: of(func(c *Config) *float64 { return &c.Spamd.Threshold }, value.Weight(0.1, 1000)),
		doc:  "Score from which clients take a message for spam."},
	{section: spamdSection, name: "spam_score", def: 10.0, live: true,
		kind: of(func(c *Config) *float64 { return &c.Spamd.SpamScore }, value.Weight(0.1, 1000)),
		doc:  "Score of spam."},
	{section: spamdSection, name: "bulk_score", def: 0.0, live: true,
		kind: of(func(c *Config) *float64 { return &c.Spamd.BulkScore }, value.Weight(0, 1000)),
		doc:  "Score of bulk. All other mail has the score 0, also mail that could not be\njudged."},
	{section: spamdSection, name: "max_connections", def: int64(200), live: true,
		kind: of(func(c *Config) *int64 { return &c.Spamd.MaxConnections }, value.Integer(1, 100_000)),
		doc:  "Maximum number of connections. Further ones wait, four times as many, of which one\nuser has at most half; those beyond are closed at once."},
	{section: spamdSection, name: "max_connections_per_client", def: int64(100), live: true,
		kind: of(func(c *Config) *int64 { return &c.Spamd.MaxConnectionsPerClient }, value.Integer(0, 100_000)),
		doc:  "Maximum number of connections from one user of this machine. If it is at most half\nof max_connections, a user has at most half of what others leave. 0: only\nmax_connections applies."},
}
