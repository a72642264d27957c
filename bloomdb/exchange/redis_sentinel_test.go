package exchange_test

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The primary accepts writes that its replica never receives, and dies: Sentinel's choice
// lacks them. They were confirmed to the sites, and must be published again.
func TestFailoverLosesWrites(t *testing.T) {
	t.Parallel()
	primary, replica, url := startReplicated(t)
	pc := primary.Client()
	defer pc.Close()
	a, b := startSites(t, url, url)
	a.awaitConnected()
	b.awaitConnected()
	var had, got int64 // bytes of the stream of writes: at the primary's death, and those that the replica has
	traffic(t, a, b, func(i int) {
		switch i {
		case 10:
			replica.Signal(syscall.SIGSTOP)
			pc.ClientKillByFilter(t.Context(), "TYPE", "replica")
			got = replicated(t, pc) // at most; later the replica may be the primary, and have more
		case 20:
			// The lost deltas were applied elsewhere, and their sites consider them
			// published.
			b.awaitAll("spam of a %d", 20)
			had = replicated(t, pc)
			primary.Kill()
			replica.Signal(syscall.SIGCONT)
		}
	})
	if got >= had {
		t.Errorf("no writes were lost: the primary was at byte %d, the replica at %d", had, got)
	}
	t.Logf("the replica lacked at least %d bytes", had-got)
	expectNewcomer(t, url)
}

// replicated returns how many bytes a server has replicated.
func replicated(t *testing.T, c *redisclient.Client) int64 {
	t.Helper()
	found := regexp.MustCompile(`master_repl_offset:(\d+)`).FindStringSubmatch(c.Info(t.Context(), "replication").Val())
	if found == nil {
		t.Fatal("no offset of replication")
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	testenv.Check(t, err)
	return n
}
