package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

const slots = 16384

// node is a server of a cluster.
type node struct {
	*redistest.Server
	t         *testing.T
	port, bus int
	client    *redisclient.Client
}

func startNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, port: testenv.Port(t), bus: testenv.Port(t)}
	n.Server = redistest.Start(t, "--port", fmt.Sprint(n.port), "--bind", "127.0.0.1", "--cluster-enabled", "yes",
		"--cluster-port", fmt.Sprint(n.bus), "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0")
	n.client = n.Server.Client()
	t.Cleanup(func() { n.client.Close() })
	return n
}

func (n *node) do(args ...any) string {
	n.t.Helper()
	answer, err := n.client.Do(n.t.Context(), args...).Text()
	if err != nil {
		n.t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// startCluster starts three nodes that share the slots, and a replica of the node with the
// federation's keys.
func startCluster(t *testing.T, keyID string) (nodes []*node, url string, holder, replica *node) {
	t.Helper()
	nodes = []*node{startNode(t), startNode(t), startNode(t), startNode(t)}
	var addrs []string
	share := (slots + 2) / 3
	for i, n := range nodes {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", n.port))
		if i < 3 {
			n.do("CLUSTER", "ADDSLOTSRANGE", i*share, min((i+1)*share, slots)-1)
			n.do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		}
		if i > 0 {
			nodes[0].do("CLUSTER", "MEET", "127.0.0.1", n.port, n.bus)
		}
	}
	eventuallyAll(t, nodes, "cluster_known_nodes:4")
	slot := nodes[0].client.ClusterKeySlot(t.Context(), streams.New(nil, keyID).HeadsKey()).Val()
	holder, replica = nodes[int(slot)/share], nodes[3]
	id := holder.do("CLUSTER", "MYID")
	testenv.Eventually(t, "the fourth is a replica", func() bool {
		return replica.client.Do(t.Context(), "CLUSTER", "REPLICATE", id).Err() == nil
	})
	eventuallyAll(t, nodes, "cluster_state:ok")
	testenv.Eventually(t, "the replica follows", func() bool {
		return strings.Contains(replica.client.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	return nodes, "redis://spambloom:geheim@" + strings.Join(addrs, ",") + impatient, holder, replica
}

// eventuallyAll waits until every node reports this state of the cluster.
func eventuallyAll(t *testing.T, nodes []*node, what string) {
	t.Helper()
	for _, n := range nodes {
		testenv.Eventually(t, fmt.Sprintf("node %d says %s", n.port, what), func() bool {
			return strings.Contains(n.client.ClusterInfo(t.Context()).Val(), what)
		})
	}
}

// Three nodes: one of them has all keys of the federation. When it dies, its replica takes
// over.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	nodes, url, holder, replica := startCluster(t, keyring.ID(testKey))
	for _, n := range nodes { // each as configured by the administrator
		for _, line := range aclLines(t, "geheim") {
			testenv.Check(t, n.client.Do(t.Context(), line...).Err())
		}
	}
	a, b := startSites(t, url, url)
	a.awaitConnected()
	b.awaitConnected()
	keys := 0
	traffic(t, a, b, func(i int) {
		if i == 20 {
			keys = int(holder.client.DBSize(t.Context()).Val())
			holder.Kill()
		}
	})
	if keys < 3 {
		t.Errorf("the node that should hold the federation had %d keys", keys)
	}
	if role, err := replica.client.Do(t.Context(), "ROLE").Slice(); err != nil || role[0] != "master" {
		t.Errorf("the replica is %v, %v", role, err)
	}
	expectNewcomer(t, url)
	for _, n := range nodes {
		if n != holder {
			expectNothingDenied(t, n.client)
		}
	}
}
