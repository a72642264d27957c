package maintenance

import (
	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// VersionCommand returns the verb version.
func VersionCommand(c *verb.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Args:  verb.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return c.Print(version.Text("spambloom") + "\n")
		},
	}
}
