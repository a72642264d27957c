package config

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// Files are the key files of a site.
type Files struct {
	Federation string
	Previous   string // "": none
	Signing    string
}

// Files returns the paths of the key files, by default in the state folder.
func (c *Config) Files(state string) Files {
	return Files{
		Federation: cmp.Or(c.Site.FederationKey, filepath.Join(state, "federation.key")),
		Previous:   c.Site.PreviousKey,
		Signing:    cmp.Or(c.Site.SigningKey, filepath.Join(state, "site.key")),
	}
}

// SiteName returns the name of the site, by default that of the host.
func (c *Config) SiteName() string {
	host, _ := os.Hostname() // if it fails, the site is called "site"
	return cmp.Or(c.Site.Name, value.FitName(host))
}
