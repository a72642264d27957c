package linkfault

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends every line back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { defer c.Close(); io.Copy(c, c) })
		}
	})
	return l.Addr().String()
}

// client is a connection through a proxy to echo.
type client struct {
	net.Conn
	t     *testing.T
	lines *bufio.Reader
}

func start(t *testing.T) (*Proxy, func() *client) {
	t.Helper()
	p, err := Start("tcp", echo(t))
	testenv.Check(t, err)
	t.Cleanup(p.Close)
	return p, func() *client {
		t.Helper()
		c, err := net.Dial("tcp", p.Addr())
		testenv.Check(t, err)
		t.Cleanup(func() { c.Close() })
		return &client{c, t, bufio.NewReader(c)}
	}
}

// silence is the time after which a test concludes that no answer comes.
const silence = 300 * time.Millisecond

// send sends a line and returns the answer, or "" if none comes in time.
func (c *client) send(line string) (string, error) {
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return "", err
	}
	return c.receive(silence)
}

// fails sends a line on a connection that ends, and returns the data received before.
func (c *client) fails(line string) (string, error) {
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return "", err
	}
	return c.receive(testenv.Patience)
}

func (c *client) receive(patience time.Duration) (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	got, err := c.lines.ReadString('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return got, nil
	}
	return strings.TrimSuffix(got, "\n"), err
}

func (c *client) want(line string) {
	c.t.Helper()
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		c.t.Fatal(err)
	}
	if got, err := c.receive(testenv.Patience); got != line || err != nil {
		c.t.Errorf("sent %q, received %q, %v", line, got, err)
	}
}

func TestWorks(t *testing.T) {
	p, dial := start(t)
	c := dial()
	for range 3 {
		c.want("hello")
	}
	if up, down := p.Bytes(); up != 18 || down != 18 {
		t.Errorf("%d bytes up, %d down", up, down)
	}
}

func TestRefuse(t *testing.T) {
	p, dial := start(t)
	old := dial()
	old.want("x")
	p.Set(Fault{Refuse: true})
	old.want("still here")
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // it may already be closed
		defer c.Close()
		if got, err := io.ReadAll(c); len(got) > 0 {
			t.Errorf("received %q, %v", got, err)
		}
	}
	p.Set(Fault{})
	dial().want("back")
}

func TestStallLosesNothing(t *testing.T) {
	for name, fault := range map[string]Fault{"both": {Stall: true}, "down": {StallDown: true}} {
		t.Run(name, func(t *testing.T) {
			p, dial := start(t)
			c := dial()
			c.want("x")
			p.Set(fault)
			if got, err := c.send("held"); got != "" || err != nil {
				t.Errorf("received %q, %v", got, err)
			}
			p.Set(Fault{})
			if got, err := c.receive(testenv.Patience); got != "held" || err != nil {
				t.Errorf("received %q, %v", got, err)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	p, dial := start(t)
	c := dial()
	p.Set(Fault{Delay: 200 * time.Millisecond})
	start := time.Now()
	c.want("slow")
	if took := time.Since(start); took < 400*time.Millisecond {
		t.Errorf("round trip in %v", took)
	}
	p.Set(Fault{})
	c.want("fast")
}

func TestCut(t *testing.T) {
	p, dial := start(t)
	c := dial()
	p.Set(Fault{CutAfter: 7})
	c.want("12345")
	if got, err := c.fails("12345"); got == "12345" || err == nil {
		t.Errorf("received %q, %v after the cut", got, err)
	}
	dial().want("12345") // a new connection has its own count of bytes
}

func TestReset(t *testing.T) {
	p, dial := start(t)
	c := dial()
	c.want("x")
	p.Reset()
	if got, err := c.fails("x"); err == nil {
		t.Errorf("received %q", got)
	}
	dial().want("x")
}

func TestHalfOpen(t *testing.T) {
	p, dial := start(t)
	c := dial()
	c.want("x")
	p.HalfOpen()
	for range 3 {
		if got, err := c.send("anybody?"); got != "" || err != nil {
			t.Errorf("received %q, %v", got, err)
		}
	}
	dial().want("x")
}
