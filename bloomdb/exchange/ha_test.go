package exchange_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// All keys of a federation are on one node of a cluster, and its scripts run there.
func TestCluster(t *testing.T) {
	t.Parallel()
	port := testenv.Port(t)
	server := redistest.Start(t, "--port", fmt.Sprint(port), "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(testenv.Port(t)), "--bind", "127.0.0.1")
	c := server.Client()
	defer c.Close()
	testenv.Check(t, c.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	testenv.Eventually(t, "the cluster is up", func() bool {
		return strings.HasPrefix(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	url := fmt.Sprintf("redis://127.0.0.1:%d,127.0.0.1:%d", port, port)
	a, b := startSites(t, url, url)
	if _, ok := a.client.UniversalClient.(*redis.ClusterClient); !ok {
		t.Fatalf("the client is a %T", a.client)
	}
	a.awaitConnected()
	traffic(t, a, b, func(int) {})
	expectNewcomer(t, url)
}

// When the primary dies, the sentinel's choice is used, and data missing there is published
// again.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	primary, replica, url := startReplicated(t)
	rc := replica.Client()
	defer rc.Close()
	a, b := startSites(t, url, url)
	a.awaitConnected()
	b.awaitConnected()
	traffic(t, a, b, func(i int) {
		if i == 20 {
			primary.Kill()
		}
	})
	if role, err := rc.Do(t.Context(), "ROLE").Slice(); err != nil || role[0] != "master" {
		t.Errorf("the replica is %v, %v", role, err)
	}
	expectNewcomer(t, url)
}

// startReplicated starts a connected primary, replica and sentinel.
func startReplicated(t *testing.T) (primary, replica *redistest.Server, url string) {
	t.Helper()
	ports := []int{testenv.Port(t), testenv.Port(t), testenv.Port(t)}
	tcp := func(port int, args ...string) *redistest.Server {
		return redistest.Start(t, append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"}, args...)...)
	}
	primary = tcp(ports[0])
	replica = tcp(ports[1], "--replicaof", fmt.Sprintf("127.0.0.1 %d", ports[0]))
	rc := replica.Client()
	defer rc.Close()
	// A sentinel started before the link is up checks again only after 10 s, and then after
	// another 10 s.
	testenv.Eventually(t, "the replica follows the primary", func() bool {
		return strings.Contains(rc.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	sentinel := startSentinel(t, ports[2], ports[0])
	sc := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	defer sc.Close()
	testenv.Eventually(t, "the sentinel knows the replica", func() bool {
		list, _ := sc.Replicas(t.Context(), "m").Result()
		return len(list) == 1 && list[0]["master-link-status"] == "ok"
	})
	return primary, replica, "redis://" + sentinel + impatient + "&master_name=m"
}

func startSentinel(t *testing.T, port, primary int) (addr string) {
	t.Helper()
	path := testenv.Program(t, "redis-server")
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	settings := fmt.Appendf(nil, "port %d\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds m 300\nsentinel failover-timeout m 2000\n", port, primary)
	testenv.Check(t, os.WriteFile(conf, settings, 0o600))
	t.Cleanup(redistest.StartProgram(t, path, conf, "--sentinel").Kill)
	return fmt.Sprintf("127.0.0.1:%d", port)
}
