// Package version identifies the build of the program. It is the same for all commands.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// linked is set by the linker:
// -X github.com/spambloom/spambloom/cmd/internal/version.linked=v1.2.3.
var linked string

// String returns the version, or a substitute from the build information.
func String() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(linked, info.Main.Version, "unknown")
	}
	return cmp.Or(linked, "unknown")
}

// Text returns the line that a program prints for --version, without its newline.
func Text(program string) string {
	return fmt.Sprintf("%s %s (%s)", program, String(), runtime.Version())
}
