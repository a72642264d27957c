package redisclient_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// falseAnswers are what a hostile sentinel answers to the question for the primary. It can send
// them before the question, too.
var falseAnswers = []string{
	"*0\r\n", "*1\r\n$9\r\n127.0.0.1\r\n", "*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n", "*2\r\n$0\r\n\r\n$0\r\n\r\n", "*2\r\n$-1\r\n$-1\r\n",
	"*-1\r\n", "$-1\r\n", ":1\r\n", "+OK\r\n", "~0\r\n", "%0\r\n", ">0\r\n*0\r\n", "|1\r\n+a\r\n+b\r\n*0\r\n", "*131000\r\n", "-ERR no\r\n", "*1\r\n*1\r\n*0\r\n",
}

// TestHostileSentinel is the attack "short answer": what answers in the place of a sentinel sends an
// address of fewer than two parts, many sentinels, or a change of the primary in one word. The process
// goes on, the command fails, and no other address is connected to.
func TestHostileSentinel(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, answer := range falseAnswers {
			address := sentinelOf(t, func(command string) string {
				switch {
				case strings.Contains(command, "get-master-addr-by-name"):
					return answer
				case early:
					return "-ERR unknown command\r\n" + answer
				}
				return "-ERR unknown command\r\n"
			})
			c, err := redisclient.Dial("redis://"+address+"?master_name=m", redisclient.Options{})
			testenv.Check(t, err)
			if err := c.Get(t.Context(), "key").Err(); err == nil {
				t.Errorf("%q: there is a primary", answer)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A sentinel's own messages, and other sentinels that it names, are not believed.
func TestSentinelMessages(t *testing.T) {
	m := miniredis.RunT(t)
	var named atomic.Int64
	other := sentinelOf(t, func(string) string { named.Add(1); return "-ERR\r\n" })
	address := sentinelOf(t, func(command string) string {
		switch {
		case strings.Contains(command, "get-master-addr-by-name"):
			return strings.Join([]string{"*2", bulk(m.Host()), bulk(m.Port()), ""}, "\r\n")
		case strings.Contains(command, "sentinels"):
			host, port, _ := net.SplitHostPort(other)
			return strings.Join([]string{"*1", "*4", bulk("ip"), bulk(host), bulk("port"), bulk(port), ""}, "\r\n")
		case strings.Contains(command, "subscribe"):
			return strings.Join([]string{"*3", bulk("subscribe"), bulk("+switch-master"), ":1", "*3", bulk("message"), bulk("+switch-master"), bulk("m"), ""}, "\r\n")
		}
		return "-ERR unknown command\r\n"
	})
	c, err := redisclient.Dial("redis://"+address+"?master_name=m", redisclient.Options{})
	testenv.Check(t, err)
	testenv.Check(t, c.Set(t.Context(), "key", "value", 0).Err())
	m.Close() // the sentinel is asked again
	testenv.Check(t, m.Restart())
	testenv.Eventually(t, "the primary is reached again", func() bool { return c.Get(t.Context(), "key").Val() == "value" })
	testenv.Check(t, c.Close())
	if n := named.Load(); n > 0 {
		t.Errorf("a sentinel that another one named was asked %d times", n)
	}
}

// A primary that was replaced may still answer. Connections to it end, and so do subscriptions.
func TestPrimaryReplaced(t *testing.T) {
	old, later := miniredis.RunT(t), miniredis.RunT(t)
	var primary atomic.Pointer[miniredis.Miniredis]
	primary.Store(old)
	address := sentinelOf(t, func(command string) string {
		if !strings.Contains(command, "get-master-addr-by-name") {
			return "-ERR unknown command\r\n"
		}
		m := primary.Load()
		return strings.Join([]string{"*2", bulk(m.Host()), bulk(m.Port()), ""}, "\r\n")
	})
	testenv.Check(t, old.Set("key", "old"))
	testenv.Check(t, later.Set("key", "new"))
	c, err := redisclient.Dial("redis://127.0.0.1:1,"+address+"?master_name=m", redisclient.Options{})
	testenv.Check(t, err)
	defer c.Close()
	if got, err := c.Get(t.Context(), "key").Result(); got != "old" {
		t.Fatal(got, err)
	}
	s := c.Subscribe(t.Context(), "news")
	defer s.Close()
	_, err = s.Receive(t.Context())
	testenv.Check(t, err)
	primary.Store(later)
	testenv.Eventually(t, "no connection to the old primary", func() bool { return old.CurrentConnectionCount() == 0 })
	testenv.Eventually(t, "the new primary answers", func() bool { return c.Get(t.Context(), "key").Val() == "new" })
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s", len(s), s) }

// sentinelOf starts what answers as a sentinel. answer gets each command in lower case.
func sentinelOf(t *testing.T, answer func(command string) string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					command, err := readCommand(r)
					if err != nil {
						return
					}
					if _, err := c.Write([]byte(answer(strings.ToLower(command)))); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); work.Wait() })
	return l.Addr().String()
}

// readCommand returns the words of a command.
func readCommand(r *bufio.Reader) (string, error) {
	var parts int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &parts); err != nil {
		return "", err
	}
	var words []string
	for range parts {
		if _, err := r.ReadString('\n'); err != nil { // its length
			return "", err
		}
		word, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		words = append(words, strings.TrimSpace(word))
	}
	return strings.Join(words, " "), nil
}

// The same for what answers in the place of a node of a cluster, about the nodes and their slots, and
// about the commands.
func TestHostileNode(t *testing.T) {
	slots := func(first, last, nodes string) string { return "*1\r\n*3\r\n" + first + last + nodes }
	node := "*1\r\n*3\r\n$9\r\n127.0.0.1\r\n:1\r\n$1\r\na\r\n"
	answers := append([]string{
		slots(":0\r\n", ":16383\r\n", "*0\r\n"), slots(":0\r\n", ":16383\r\n", "*2\r\n$0\r\n\r\n:0\r\n"), slots(":-5\r\n", ":-9\r\n", node),
		slots(":0\r\n", ":9223372036854775807\r\n", node), slots(":16383\r\n", ":0\r\n", node), slots(":-9223372036854775808\r\n", ":9\r\n", node),
		slots("$1\r\nx\r\n", ":9\r\n", node), "*1\r\n*2\r\n:0\r\n:1\r\n", "*1\r\n*0\r\n", "*2\r\n*3\r\n:0\r\n:9\r\n" + node, "*1\r\n*3\r\n:0\r\n:9\r\n*1\r\n*1\r\n$1\r\nx\r\n",
		"*1\r\n*3\r\n:0\r\n:16383\r\n*1\r\n*2\r\n$-1\r\n:1\r\n", "*1\r\n*6\r\n$3\r\nget\r\n:-2\r\n*0\r\n:9\r\n:9\r\n:-9\r\n", "*1\r\n*7\r\n$3\r\nget\r\n:2\r\n*-1\r\n:1\r\n:1\r\n:1\r\n*-1\r\n",
		"-MOVED\r\n", "-MOVED 1\r\n", "-MOVED x y z\r\n", "-ASK 1\r\n", "-MOVED 1 \r\n", "-ASK  \r\n",
	}, falseAnswers...)
	for _, answer := range answers {
		for _, to := range []string{"cluster", "command", ""} {
			address := sentinelOf(t, func(command string) string {
				if strings.HasPrefix(command, "hello") || !strings.HasPrefix(command, to) {
					return "-ERR unknown command\r\n"
				}
				return answer
			})
			c, err := redisclient.Dial("redis://"+address+","+address, redisclient.Options{})
			testenv.Check(t, err)
			err = c.Get(t.Context(), "key").Err()
			_ = c.Publish(t.Context(), "news", "").Err()
			if err == nil && to == "cluster" {
				t.Errorf("%q: the key has a value", answer)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
