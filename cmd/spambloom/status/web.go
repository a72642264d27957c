package status

import (
	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

// WebCommand returns the verb web.
func WebCommand(c *verb.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "web",
		Short: "print a link that signs you in to the daemon's page",
		Long: `web prints the address of the daemon's page with a key that signs you in. The link works
once, within five minutes. On the page you may do what you may do with this command:
actions are entered under your name.

Everybody who can reach the page ([http] listen, by default this machine) sees figures
without it. On another machine, forward the port: ssh -L 8898:127.0.0.1:8898 HOST.

Exit codes:
  0   the link is printed` + verb.StatusCodes,
		Example: `  spambloom web`,
		Args:    verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := verb.Asked(cmd.Context(), c, v1.Web)
			if err != nil {
				return err
			}
			return c.Print(link.URL + "\n")
		},
	}
}
