package reporters

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/credential"
)

const tokenHelp = `token makes a token for a mail store on another machine, which proves its name to the
daemon of this machine.

It prints the token once, and the line for the file named by remote_tokens in
[control]. That file contains digests, from which the tokens cannot be computed. The
daemon reads it at its start and on SIGHUP. To lock a client out, remove its line. A name
may have two tokens while one replaces the other.

On the other machine, set SPAMBLOOM_TOKEN to the token, or SPAMBLOOM_TOKEN_FILE to a
file with the token that others may not read. Set SPAMBLOOM_CONTROL to the daemon's
address, https://HOST:PORT. Set SPAMBLOOM_CA to the file of the CA that signed the
daemon's certificate, unless the system trusts that CA.

NAME appears in the log and with each report. It must not contain blanks or colons.

Exit codes:
  0   the token is printed` + verb.UsageCode + verb.OutputCode

// TokenCommand returns the verb token.
func TokenCommand(c *verb.CLI) *cobra.Command {
	return &cobra.Command{
		Use:     "token NAME",
		Short:   "make a token for a mail store on another machine",
		Long:    tokenHelp,
		Example: `  spambloom token store1.example.org`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			token, line, err := credential.NewToken(args[0])
			if err != nil {
				return verb.UsageError(err)
			}
			return c.Print(fmt.Sprintf("# for the client, which must keep it secret:\n%s\n# for the file named by remote_tokens:\n%s\n", token, line))
		},
	}
}
