package peer

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
)

const (
	ranges    = "/etc/subuid"
	maxRanges = 1 << 20 // bytes of that file that are read
)

// UIDName returns the name of a user without a login name: "uid:N", and for all users of a range that
// belongs to somebody (subuid(5)) "subuid:OWNER". A person acts under each of 65,536 such users,
// without leaving its groups, and must be no more than one reporter, and have no more than one user's
// places. No login name looks like that, because a colon ends it in the system's files.
func UIDName(uid int) string {
	if f, err := os.Open(ranges); err == nil {
		defer f.Close()
		if owner := ownerOf(uid, f); owner != "" {
			return "subuid:" + owner
		}
	}
	return "uid:" + strconv.Itoa(uid)
}

// ownerOf returns the user to whom a range with uid belongs, as the file of ranges names it; empty for
// none.
func ownerOf(uid int, file io.Reader) string {
	lines := bufio.NewScanner(io.LimitReader(file, maxRanges))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 3 {
			continue
		}
		first, err := strconv.Atoi(fields[1])
		count, countErr := strconv.Atoi(fields[2])
		if err == nil && countErr == nil && uid >= first && uid-first < count && api.CheckReporter("subuid:"+fields[0]) == nil {
			return fields[0]
		}
	}
	return ""
}
