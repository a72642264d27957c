package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
)

// keygenFlags are those of keygen.
type keygenFlags struct {
	public, federation string
	site, config       string
}

const keygenHelp = `keygen makes the key with which this site signs what it gives to other sites, and
prints the [[peer]] table that they put into their configuration. The private key
is written to FILE (default: site.key in this folder), one line, readable for its
owner only; a file that is there is never replaced. The owner must be the user of
the daemon, and signing_key in [site] its path. A daemon without a key makes one at
its first start; --public prints the table of that one.

--federation makes the other sort of key, which all sites share: who has it belongs
to the federation.

The name in the table is --site, else the name in the configuration, else that of
the host, as for the daemon.

Exit codes:
  0   the key is written, or shown` + usageCode + `
  65  a file that holds no such key or that others may read, or a wrong configuration
  66  a file that cannot be read
  73  the key cannot be written, or there is one already` + outputCode

func (c *cli) keygenCommand() *cobra.Command {
	var flags keygenFlags
	cmd := &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "make the key of a site, or of a federation",
		Long:  keygenHelp,
		Example: `  spambloom keygen /etc/spambloom/site.key
  spambloom keygen --public /var/lib/spambloom/site.key
  spambloom keygen --federation /etc/spambloom/federation.key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (flags.public != "" && flags.federation != "") || (flags.public+flags.federation != "" && len(args) > 0) {
				return &usageError{errors.New("FILE, --public and --federation: only one of them")}
			}
			return c.keygen(append(args, "site.key")[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.public, "public", "", "make nothing: print the table of the key in `FILE`")
	cmd.Flags().StringVar(&flags.federation, "federation", "", "make a federation's key in `FILE`")
	cmd.Flags().StringVar(&flags.site, "site", "", "`NAME` of this site, for the table")
	cmd.Flags().StringVarP(&flags.config, "config", "c", "", "configuration `FILE` that has the name (default "+config.DefaultPath+", if there is one)")
	return cmd
}

// keyError is a key or a configuration that is wrong.
type keyError struct{ error }

func (e *keyError) Unwrap() error { return e.error }

func (c *cli) keygen(path string, flags keygenFlags) error {
	if flags.federation != "" {
		return c.makeFederationKey(flags.federation)
	}
	site, err := siteName(flags)
	if err != nil {
		return err
	}
	if flags.public != "" {
		key, err := keyring.ReadSigningKey(flags.public)
		if err != nil {
			return readFault(err)
		}
		return c.printPeer(site, keyring.PublicKey(key))
	}
	key, err := keyring.NewSigningKey()
	if err != nil {
		return err
	}
	if err := keyring.WriteSigningKey(path, key); err != nil {
		return &createError{err}
	}
	return c.printPeer(site, keyring.PublicKey(key))
}

func (c *cli) makeFederationKey(path string) error {
	key, err := keyring.New()
	if err != nil {
		return err
	}
	if err := keyring.WriteKey(path, key); err != nil {
		return &createError{err}
	}
	return c.print(fmt.Sprintf("%s: federation key %s\n", path, keyring.ID(key)))
}

// printPeer prints what other sites need.
func (c *cli) printPeer(site, key string) error {
	return c.print(fmt.Sprintf("[[peer]]\nname = %q\nkey = %q\n", site, key))
}

// siteName is the name that the daemon has.
func siteName(flags keygenFlags) (string, error) {
	if flags.site != "" {
		if flags.site != config.FitName(flags.site) {
			return "", &usageError{fmt.Errorf("--site %q is not a site name; allowed: 1 to 64 of a-z A-Z 0-9 . _ -, no dot first", flags.site)}
		}
		return flags.site, nil
	}
	name := ""
	set, err := config.Load(cmp.Or(flags.config, config.DefaultPath))
	switch {
	case err == nil:
		name = set.Site.Name
	case flags.config != "" || !errors.Is(err, fs.ErrNotExist):
		return "", readFault(err)
	}
	host, _ := os.Hostname() // without one, the site is called "site"
	return cmp.Or(name, config.FitName(host)), nil
}

// readFault tells a file that cannot be read from one that is wrong.
func readFault(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &inputError{err}
	}
	return &keyError{err}
}
