package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting/credential"
)

const tokenHelp = `token makes the token with which a mail store on another machine proves its name to
the daemon of this one, and prints it, once, with the line for the daemon: the file
that remote_tokens in [control] names holds digests, from which no token can be made.
The daemon reads the file at its start and on SIGHUP. A client that is to be let in no
longer is taken out of it; a name may have two tokens, while one is changed for the other.

On the other machine the token goes into SPAMBLOOM_TOKEN, or into a file that
SPAMBLOOM_TOKEN_FILE names and that others may not read; SPAMBLOOM_CONTROL is the
daemon's address, https://HOST:PORT, and SPAMBLOOM_CA the file of the CA that signed its
certificate, where that is not one of the system's.

NAME stands in the log and with each report. It has no blanks and no colon.

Exit codes:
  0   the token is printed` + usageCode + outputCode

func (c *cli) tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "token NAME",
		Short:   "make a token for a mail store on another machine",
		Long:    tokenHelp,
		Example: `  spambloom token store1.example.org`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			token, line, err := credential.NewToken(args[0])
			if err != nil {
				return &usageError{err}
			}
			return c.print(fmt.Sprintf("# for the client, who keeps it secret:\n%s\n# for the file of remote_tokens:\n%s\n", token, line))
		},
	}
}
