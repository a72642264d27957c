// Package version knows which build of the program this is. It is the same for
// all commands.
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

// String is the version, or what the build knows in its place.
func String() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(linked, info.Main.Version, "unknown")
	}
	return cmp.Or(linked, "unknown")
}

// Text is the line that a program prints about itself, without its end.
func Text(program string) string {
	return fmt.Sprintf("%s %s (%s)", program, String(), runtime.Version())
}
