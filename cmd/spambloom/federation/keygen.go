package federation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/config/value"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// keygenFlags are the flags of keygen.
type keygenFlags struct {
	public, federation string
	site, config       string
}

const keygenHelp = `keygen makes the key with which this site signs its records, and prints the [[peer]]
table for the configuration of the other sites.

The private key is written to FILE (default: site.key in this folder), one line,
readable by its owner only. An existing file is never replaced. The daemon's user must
own the file, and signing_key in [site] must name it. A daemon without a key makes one
at its first start; --public prints the table for that key.

--federation makes the other kind of key, which all sites share. Every holder of that
key belongs to the federation.

The name in the table is --site, else the name in the configuration, else the host
name. The daemon follows the same rule.

Exit codes:
  0   the key is written or shown` + verb.UsageCode + `
  65  the file is not such a key, others may read it, or the configuration is wrong
  66  a file that cannot be read
  73  the key cannot be written, or the file exists` + verb.OutputCode

// KeygenCommand returns the verb keygen.
func KeygenCommand(c *verb.CLI) *cobra.Command {
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
				return verb.UsageError(errors.New("FILE, --public and --federation: only one of them"))
			}
			return keygen(c, append(args, "site.key")[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.public, "public", "", "make no key; print the table for the key in `FILE`")
	cmd.Flags().StringVar(&flags.federation, "federation", "", "make a federation key in `FILE`")
	cmd.Flags().StringVar(&flags.site, "site", "", "`NAME` of this site, for the table")
	cmd.Flags().StringVarP(&flags.config, "config", "c", "", "configuration `FILE` with the name (default "+config.DefaultPath+", if it exists)")
	return cmd
}

func keygen(c *verb.CLI, path string, flags keygenFlags) error {
	if flags.federation != "" {
		return makeFederationKey(c, flags.federation)
	}
	site, err := siteName(flags)
	if err != nil {
		return err
	}
	if flags.public != "" {
		key, err := keyring.ReadSigningKey(flags.public)
		if err != nil {
			return verb.ReadFault(err)
		}
		return printPeer(c, site, keyring.PublicKey(key))
	}
	key, err := keyring.NewSigningKey()
	if err != nil {
		return err
	}
	if err := keyring.WriteSigningKey(path, key); err != nil {
		return createFault(err)
	}
	return printPeer(c, site, keyring.PublicKey(key))
}

// createFault is the error of a key that cannot be written.
func createFault(err error) error {
	hint := ""
	if errors.Is(err, fs.ErrExist) {
		hint = "a key is never replaced; spambloom keygen --public FILE shows the public half of a site's key"
	}
	return &verb.Fault{Code: verb.CantCreate, Err: err, Hint: hint}
}

func makeFederationKey(c *verb.CLI, path string) error {
	key, err := keyring.New()
	if err != nil {
		return err
	}
	if err := keyring.WriteKey(path, key); err != nil {
		return createFault(err)
	}
	return c.Print(fmt.Sprintf("%s: federation key %s\n", path, keyring.ID(key)))
}

// printPeer prints the table for the configuration of other sites.
func printPeer(c *verb.CLI, site, key string) error {
	return c.Print(fmt.Sprintf("[[peer]]\nname = %q\nkey = %q\n", site, key))
}

// siteName returns the site's name by the same rule as the daemon.
func siteName(flags keygenFlags) (string, error) {
	if flags.site != "" {
		if flags.site != value.FitName(flags.site) {
			return "", verb.UsageError(fmt.Errorf("--site %q is not a site name; allowed: 1 to 64 of a-z A-Z 0-9 . _ -, no dot first", flags.site))
		}
		return flags.site, nil
	}
	set, err := config.Load(cmp.Or(flags.config, config.DefaultPath))
	switch {
	case err == nil:
		return set.SiteName(), nil
	case flags.config != "" || !errors.Is(err, fs.ErrNotExist):
		return "", verb.ReadFault(err)
	}
	return config.Default().SiteName(), nil
}
