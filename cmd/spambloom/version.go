package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -X main.version=v1.2.3.
var version string

// programVersion is the version, or what the build knows in its place.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(version, info.Main.Version, "unknown")
	}
	return cmp.Or(version, "unknown")
}

func versionText() string {
	return fmt.Sprintf("spambloom %s (%s)\n", programVersion(), runtime.Version())
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return c.print(versionText())
		},
	}
}
