package main

import (
	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
)

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return c.print(version.Text("spambloom") + "\n")
		},
	}
}
