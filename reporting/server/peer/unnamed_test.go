package peer

import (
	"strings"
	"testing"
)

// All users of a person's range have one name.
func TestOwnerOf(t *testing.T) {
	const file = "# none\nanna:100000:65536\n\nbert:x:5\ntwo words:165536:1\nroot:200000:10\n1001:300000:65536\nfar:-5:3\nodd:7\n"
	for uid, want := range map[int]string{
		0: "", 7: "", 1000: "", 99_999: "", 100_000: "anna", 165_535: "anna", 165_536: "", 200_009: "root", 200_010: "", 300_001: "1001", -4: "far", 1<<32 - 2: "",
	} {
		if got := ownerOf(uid, strings.NewReader(file)); got != want {
			t.Errorf("%d belongs to %q, want %q", uid, got, want)
		}
	}
}
