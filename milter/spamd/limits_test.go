package spamd_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/spamd"
)

// metric returns the sum of a metric's series with all of the labels' values.
func (s *site) metric(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(s.spamd.Collectors()...)
	families, err := r.Gather()
	testenv.Check(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var values []string
			for _, l := range m.Label {
				values = append(values, l.GetValue())
			}
			if !slices.ContainsFunc(labels, func(v string) bool { return !slices.Contains(values, v) }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// isClosed waits until the server closes a connection, and reports whether it did so
// without an answer.
func isClosed(t *testing.T, c net.Conn) bool {
	t.Helper()
	answer, _ := io.ReadAll(c)
	return len(answer) == 0
}

// A client beyond its limit waits, others do not, and each connection that ends frees its place. When
// as many of a client wait as may, further ones are refused, and others may still wait.
func TestConnectionLimits(t *testing.T) {
	users := make(chan string, 1)
	s := start(t, milter.Options{}, spamd.Options{MaxConnections: 3, MaxConnectionsPerClient: 2, UserOf: func(net.Conn) (string, bool) { return <-users, true }})
	as := func(user string) net.Conn {
		users <- user
		c := s.dial(t)
		io.WriteString(c, "PING SPAMC/1.5\r\n")
		return c
	}
	have := func(name string, n float64) {
		t.Helper()
		testenv.Eventually(t, fmt.Sprint(n, " of ", name), func() bool { return s.metric(t, name) == n })
	}
	silent := func(user string) net.Conn { users <- user; return s.dial(t) }
	first, second, other := silent("anna"), silent("anna"), silent("bob")
	have("spambloom_spamd_connections", 3)
	var waiting []net.Conn
	for range 6 { // half of twelve
		waiting = append(waiting, as("anna"))
	}
	have("spambloom_spamd_waiting", 6)
	if !isClosed(t, as("anna")) {
		t.Error("a seventh connection of anna waits")
	}
	waiting = append(waiting, as("carl"))
	have("spambloom_spamd_waiting", 7)
	for _, c := range []net.Conn{first, second, other} {
		c.Close()
	}
	for i, c := range waiting {
		if answer, _ := io.ReadAll(c); string(answer) != "SPAMD/1.5 0 PONG\r\n" {
			t.Errorf("connection %d: %q", i, answer)
		}
	}
	have("spambloom_spamd_waiting", 0)
	have("spambloom_spamd_connections", 0)
	if n := s.metric(t, "spambloom_spamd_refused_total", "connections") + s.metric(t, "spambloom_spamd_refused_total", "client"); n != 1 {
		t.Errorf("refused: %v", n)
	}
}

// New limits give places at once to those that wait, so that later connections do not overtake them.
func TestWaitingAtReload(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{MaxConnections: 1})
	s.dial(t)
	testenv.Eventually(t, "a place is taken", func() bool { return s.metric(t, "spambloom_spamd_connections") == 1 })
	c := s.dial(t)
	io.WriteString(c, "PING SPAMC/1.5\r\n")
	testenv.Eventually(t, "a connection waits", func() bool { return s.metric(t, "spambloom_spamd_waiting") == 1 })
	s.spamd.Reload(spamd.Options{MaxConnections: 2})
	c.SetReadDeadline(time.Now().Add(testenv.Patience)) // the read returns the error
	if answer, err := io.ReadAll(c); string(answer) != "SPAMD/1.5 0 PONG\r\n" {
		t.Errorf("%q, %v", answer, err)
	}
}

// The same holds for a connection whose user is looked up meanwhile: it brings no earlier limits back.
func TestAdmittedDuringReload(t *testing.T) {
	asked, users := make(chan bool), make(chan string)
	o := spamd.Options{MaxConnections: 1, UserOf: func(net.Conn) (string, bool) { asked <- true; return <-users, true }}
	s := start(t, milter.Options{}, o)
	s.dial(t)
	<-asked
	users <- "anna"
	c := s.dial(t)
	io.WriteString(c, "PING SPAMC/1.5\r\n")
	<-asked
	o.MaxConnections = 2
	s.spamd.Reload(o)
	users <- "anna"
	c.SetReadDeadline(time.Now().Add(testenv.Patience)) // the read returns the error
	if answer, err := io.ReadAll(c); string(answer) != "SPAMD/1.5 0 PONG\r\n" {
		t.Errorf("%q, %v", answer, err)
	}
}

// A client that does not finish its request is answered and closed, and holds no memory.
func TestSlowClient(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{ContentTimeout: 50 * time.Millisecond})
	for _, begun := range []string{"CHECK SPAMC/1.5\r\n", "CHECK SPAMC/1.5\r\nContent-length: 100000\r\n\r\n" + mail} {
		c := s.dial(t)
		io.WriteString(c, begun)
		if answer, _ := io.ReadAll(c); string(answer) != "SPAMD/1.1 79 EX_TIMEOUT: the request took too long\r\n\r\n" {
			t.Errorf("%q: %q", begun, answer)
		}
	}
	if !isClosed(t, s.dial(t)) { // it sends nothing
		t.Error("a silent client was answered")
	}
}

// Beyond max_memory a message keeps its beginning, as over the milter protocol.
func TestMemoryIsShared(t *testing.T) {
	s := start(t, milter.Options{MaxMessage: 1 << 20, MaxMemory: 1 << 20}, spamd.Options{})
	large := "Subject: large\n\n" + strings.Repeat("Word after word after word of it.\n", 28_000) // 952 kB
	holding := s.dial(t)
	fmt.Fprintf(holding, "CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s", len(large)+1, large)
	testenv.Eventually(t, "the first message is held", func() bool { return s.judge.Load().Memory >= int64(len(large)) })
	if got := s.ask(t, command("PROCESS SPAMC/1.5", large)); !strings.HasPrefix(got, "SPAMD/1.1 75 EX_TEMPFAIL: the message is not held") {
		t.Errorf("%.100q", got)
	}
	if got := s.ask(t, command("CHECK SPAMC/1.5", mail)); !strings.HasPrefix(got, "SPAMD/1.1 0 EX_OK\r\nSpam: False") {
		t.Errorf("%q", got)
	}
	io.WriteString(holding, "\n")
	if answer, _ := io.ReadAll(holding); !strings.HasPrefix(string(answer), "SPAMD/1.1 0 EX_OK") {
		t.Errorf("%q", answer)
	}
}

// TestLongHeader is the attack "long header": a body behind more than a MiB of header was not judged.
func TestLongHeader(t *testing.T) {
	s := start(t, milter.Options{MaxMessage: 4 << 20, MaxMemory: 64 << 20}, spamd.Options{})
	s.report(t, mail, bloomdb.ClassOther)
	long := strings.Repeat("X-Pad: "+strings.Repeat("a", 900)+"\n", 3000) + mail
	for _, line := range []string{"CHECK SPAMC/1.5", "SYMBOLS SPAMC/1.5", "HEADERS SPAMC/1.5", "PROCESS SPAMC/1.5"} {
		got := s.ask(t, command(line, long))
		if !strings.HasPrefix(got, "SPAMD/1.1 0 EX_OK") || !strings.Contains(got, "Spam: True ;") {
			t.Errorf("%s: %.100q", line, got)
		}
		if content := got[max(0, len(got)-len(long)):]; line == "PROCESS SPAMC/1.5" && content != long {
			t.Errorf("%d bytes come back changed", len(long))
		}
	}
	longer := strings.Repeat("X-Pad: "+strings.Repeat("a", 900)+"\n", 5000) + mail
	if got := s.ask(t, command("HEADERS SPAMC/1.5", longer)); !strings.HasPrefix(got, "SPAMD/1.1 75 EX_TEMPFAIL: the header is not held") {
		t.Errorf("a header beyond max_message: %.100q", got)
	}
}

// TestHeadersMeetTheBody is for spamc --headers, which appends what follows the first "\n\n" or "\r\n\r\n" to
// the answer. What a header that ends otherwise was followed by was lost.
func TestHeadersMeetTheBody(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	const end = "\nThe last line.\n"
	for _, head := range []string{"To: a\n\n", "To: a\n\r\n", "To: a\r\n\r\n", "To: a\r\n\n", "To: a\nno field\n", "\n", "no field\n"} {
		raw := head + text + "\n" + end
		_, content, _ := strings.Cut(s.ask(t, command("HEADERS SPAMC/1.5", raw)), "\r\n\r\n")
		_, process, _ := strings.Cut(s.ask(t, command("PROCESS SPAMC/1.5", raw)), "\r\n\r\n")
		first := slices.MinFunc([]string{"\n\n", "\r\n\r\n"}, func(a, b string) int { return index(raw, a) - index(raw, b) })
		_, body, _ := strings.Cut(raw, first)
		if verdict := regexp.MustCompile("count=[0-9]+"); verdict.ReplaceAllString(content+body, "") != verdict.ReplaceAllString(process, "") {
			t.Errorf("%q:\n%q\nwant\n%q", head, content+body, process)
		}
	}
	if got := s.ask(t, command("HEADERS SPAMC/1.5", "To: a\nno field\n"+strings.Repeat("x\n", 40_000))); !strings.HasPrefix(got, "SPAMD/1.1 75 ") {
		t.Errorf("no empty line in 80 kB: %.100q", got)
	}
}

// index is strings.Index with the length for what is not found.
func index(s, part string) int {
	if i := strings.Index(s, part); i >= 0 {
		return i
	}
	return len(s)
}

// Shutdown closes silent connections and finishes a request in flight, or cuts it at the end
// of the grace.
func TestShutdown(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	silent, slow := s.dial(t), s.dial(t)
	fmt.Fprintf(slow, "CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s", len(mail), mail[:50])
	testenv.Eventually(t, "the request is being read", func() bool { return s.judge.Load().Memory > 0 && s.metric(t, "spambloom_spamd_connections") == 2 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.spamd.Shutdown(context.Background()) }()
	if !isClosed(t, silent) {
		t.Error("a silent client was answered")
	}
	if _, err := net.Dial("unix", s.path); err == nil {
		t.Error("a connection is accepted after the stop")
	}
	io.WriteString(slow, mail[50:])
	if answer, _ := io.ReadAll(slow); !strings.HasPrefix(string(answer), "SPAMD/1.1 0 EX_OK") {
		t.Errorf("%q", answer)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A client that is silent within its request does not hold the stop up for the time of grace.
func TestShutdownDoesNotWaitForSilentClients(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	slow := s.dial(t)
	io.WriteString(slow, "CHECK SPAMC/1.5\r\nContent-length: 1000\r\n\r\nFrom: anna")
	testenv.Eventually(t, "the request is being read", func() bool { return s.judge.Load().Memory > 0 })
	grace, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.spamd.Shutdown(grace); err != nil {
		t.Error(err)
	}
}

func TestShutdownCuts(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{})
	slow := s.dial(t)
	io.WriteString(slow, "CHECK SPAMC/1.5\r\nContent-length: 1000\r\n\r\nFrom: anna")
	testenv.Eventually(t, "the request is being read", func() bool { return s.judge.Load().Memory > 0 })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.spamd.Shutdown(ended); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if !isClosed(t, slow) {
		t.Error("a cut client was answered")
	}
}

// TestUnreadAnswer is the attack "unread answers": the kernel takes little of an answer over TCP that
// nobody reads, so the connection keeps its place. Else it kept megabytes after the place was given up.
func TestUnreadAnswer(t *testing.T) {
	s := start(t, milter.Options{}, spamd.Options{WriteTimeout: 10 * time.Millisecond})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	go s.spamd.Serve("tcp", ln)
	client, err := net.Dial("tcp", ln.Addr().String())
	testenv.Check(t, err)
	defer client.Close()
	testenv.Check(t, client.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = io.WriteString(client, command("PROCESS SPAMC/1.5", mail+strings.Repeat("b", 1<<20)))
	testenv.Check(t, err)
	testenv.Eventually(t, "the end of the wait", func() bool { return strings.Contains(s.log.String(), "spamd request refused") })
	if got, err := io.ReadAll(client); err == nil && len(got) > 1<<20 {
		t.Errorf("the kernel has kept %d bytes", len(got))
	}
}
