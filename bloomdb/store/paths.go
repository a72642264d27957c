package store

import (
	"path/filepath"
	"strings"
)

// IsSiteFile reports whether a file contains the parts of a site, of any epoch, or its votes.
func IsSiteFile(name, site string) bool {
	if IsVotesPath(name) {
		return name == filepath.Base(VotesPath("", site))
	}
	rest, ok := strings.CutPrefix(name, "site-"+site+"-")
	epoch, snapshot := strings.CutSuffix(rest, ".snapshot")
	return ok && snapshot && epoch != "" && strings.Trim(epoch, "0123456789") == ""
}

func VotesPath(dir, site string) string { return filepath.Join(dir, "site-"+site+".votes") }

func IsVotesPath(name string) bool {
	return strings.HasPrefix(name, "site-") && strings.HasSuffix(name, ".votes")
}
