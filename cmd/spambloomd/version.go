package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
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
	return fmt.Sprintf("spambloomd %s (%s)", programVersion(), runtime.Version())
}
