package redisclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// listOf returns the answer with a list of n nodes after the one at port.
func listOf(port string, first, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*1\r\n*%d\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%s\r\n", n+3, port)
	for i := range n {
		host := fmt.Sprintf("127.1.%d.%d", (first+i)/250, (first+i)%250)
		fmt.Fprintf(&b, "*2\r\n$%d\r\n%s\r\n:1\r\n", len(host), host)
	}
	return b.String()
}

// TestManyNodes is the attack "list of nodes": what answers in the place of a cluster's node names
// other ones in each list. No clients are made for them, and the client closes at once.
func TestManyNodes(t *testing.T) {
	var lists atomic.Int64
	ln := impostor(t, func(c net.Conn) {
		_, port, _ := net.SplitHostPort(c.LocalAddr().String())
		for p := make([]byte, 4096); ; {
			n, err := c.Read(p)
			if err != nil {
				return
			}
			answer := "-ERR unknown command\r\n"
			if strings.Contains(strings.ToLower(string(p[:n])), "slots") {
				answer = listOf(port, int(lists.Add(1))*400, 400)
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
	defer ln.Close()
	c, err := Dial("redis://"+ln.Addr().String()+","+ln.Addr().String(), Options{})
	testenv.Check(t, err)
	cluster := c.UniversalClient.(*redis.ClusterClient)
	testenv.Eventually(t, "a list is refused", func() bool {
		cluster.ReloadState(t.Context())
		list := redis.NewClusterSlotsCmd(t.Context(), "cluster", "slots") // as the library asks
		return errors.Is(cluster.Process(t.Context(), list), errNodes)
	})
	testenv.Check(t, c.Close())
}

// Nodes may be replaced, but not all of them all the time.
func TestNodesAreReplaced(t *testing.T) {
	list := func(first, n int) (s []redis.ClusterSlot) {
		for i := range n {
			node := redis.ClusterNode{Addr: fmt.Sprint(first + i)}
			s = append(s, redis.ClusterSlot{Nodes: []redis.ClusterNode{node, node}})
		}
		return s
	}
	n, now := &nodes{seen: map[string]time.Time{}}, time.Now()
	testenv.Check(t, n.take(list(0, 600), now))
	testenv.Check(t, n.take(list(200, 800), now))
	if err := n.take(list(500, 600), now); !errors.Is(err, errNodes) {
		t.Errorf("the 1,001st: %v", err)
	}
	testenv.Check(t, n.take(list(0, 1000), now.Add(nodeLife)))
	testenv.Check(t, n.take(list(1000, 1000), now.Add(2*nodeLife+1)))
}
