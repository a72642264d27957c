package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// soakConns is the number of simultaneous milter connections.
const soakConns = 200

// plainSoak is a run whose daemon has no race detector.
var plainSoak = testenv.Soak() || harness.Figures

// The clients of a mail server for some seconds, or half an hour: 200 connections on TCP
// and a unix socket. Some of them die, abort, stall or send garbage at any time. Meanwhile
// users report and revoke, and the configuration changes every five seconds, sometimes to
// an invalid one.
//
// Every message that its sender completed is answered once, with the current action. A
// reported message is spam from the acknowledgement on. After all clients have
// disconnected, no goroutine, no descriptor and no memory of them is left.
//
// The limits of growth during a soak: Go's heap grows while more messages are in flight at
// a time than ever before. After all have ended, as much of it is in use as at the
// beginning, when the daemon remembers as many judged messages as it ever does. The limit is 3 MiB, which is 30 bytes a message in the long form and 800 in
// the short one. Filters are outside that heap, and use a page once the first bit is set
// there, up to spambloom_db_memory_bytes. The ledger is a mapped file: its pages, 3 kB a
// report, are the kernel's cache. The race detector records all memory that was ever in
// use, with three times that size, and frees none. Therefore the long form's daemon has no
// race detector.
func TestMailSoak(t *testing.T) {
	t.Parallel()
	seed, long := soakSeed(t), 5*time.Second
	if testenv.Soak() {
		long = 30 * time.Minute
	}
	if text := os.Getenv("SPAMBLOOM_SOAK_MINUTES"); text != "" {
		minutes, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		long = time.Duration(minutes * float64(time.Minute))
	}
	t.Logf("SPAMBLOOM_SEED=%d, for %v", seed, long)
	r := startSoakRun(t, seed)
	before := r.quiet()
	memory := r.traffic(long)
	testenv.Eventually(t, "all connections have ended", func() bool { return r.metric("spambloom_milter_connections") == 0 })
	for _, held := range []string{"spambloom_milter_memory_bytes", "spambloom_milter_spilled_bytes"} {
		if n := r.metric(held); n != 0 {
			t.Errorf("%s is %v with nobody connected", held, n)
		}
	}
	r.expectNothingLeft(before)
	r.expectReported()
	if status, body := r.site.Get("/readyz"); status != 200 {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if code := r.site.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.log.end(t)
	r.expectAnswered()
	r.expectLog()
	if long >= time.Minute { // earlier, every new maximum of messages in flight shows
		memory.expectFlat(t)
	}
}

// soakSeed returns the seed of all random choices.
func soakSeed(t *testing.T) uint64 {
	text := os.Getenv("SPAMBLOOM_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// soakRun is a daemon under load.
type soakRun struct {
	t    *testing.T
	seed uint64
	site *harness.Site
	unix string // path of the second milter socket
	post *soakPost
	book *soakBook
	log  *logTail
	hups int
}

func startSoakRun(t *testing.T, seed uint64) *soakRun {
	t.Helper()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	r := &soakRun{t: t, seed: seed, site: s, unix: filepath.Join(s.Dir, "milter.sock"),
		post: newSoakPost(t, rand.New(rand.NewPCG(seed, 1<<32))), book: newSoakBook()}
	r.configure(r.random(-1), false)
	if testenv.Soak() {
		s.Binary = harness.PlainProgram(t, "spambloomd")
	}
	s.Start()
	r.log = tailLog(t, filepath.Join(s.Dir, "log"))
	return r
}

// random returns a separate random source for client i.
func (r *soakRun) random(i int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(i))) }

// configure draws a configuration. The first one has no changes that would disturb a test
// of the start.
func (r *soakRun) configure(random *rand.Rand, wrong bool) {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	text := harness.Config("one", filepath.Join(r.site.Dir, "federation.key"), "")
	for _, change := range [][2]string{
		{`listen = ["inet:0@127.0.0.1"]`, fmt.Sprintf("listen = [\"inet:0@127.0.0.1\", \"unix:%s\"]\n", r.unix) + pick(
			"", "max_message = \"1MiB\"", "max_message = \"1MiB\"\nmax_memory = \"1MiB\"\nover_memory = \"spill\"") +
			fmt.Sprintf("\non_failure = %q", pick("accept", "tempfail"))},
		{"local_networks = []", pick("local_networks = []", `local_networks = ["203.0.113.0/24"]`)},
		{"threshold = 50", "threshold = " + pick("50", "20", "1000")},
		{"[reports]", fmt.Sprintf("[actions]\nspam = %q\nbulk = %q\nclean = %q\n[reports]",
			pick("tag", "tag", "quarantine", "reject", "tempfail", "discard"), pick("tag", "accept", "tempfail"), pick("tag", "tag", "accept"))},
		{"[log]", pick("", "[[policy]]\nname = \"you\"\nrecipients = [\"you1@example.test\"]\nspam = \"tag\"\n",
			"[[allow]]\nname = \"partners\"\nnetworks = [\"203.0.113.0/24\"]\n",
			"[[allow]]\nname = \"friend\"\nrecipients = [\"you2@example.test\"]\n") + "[log]\nprivacy = " + pick("false", "true")},
	} {
		if !strings.Contains(text, change[0]) {
			r.t.Errorf("no %q in the configuration", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	if wrong {
		text += pick("\n[milter]\n", "\nlevel = \"loud\"\n", "\n[actions\n", "\n[soak]\nrain = true\n")
	}
	path := filepath.Join(r.site.Dir, "spambloom.toml")
	harness.Write(r.t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		r.t.Error(err)
	}
}

// hangups changes the configuration every five seconds, finally to a valid one.
func (r *soakRun) hangups(stopping <-chan struct{}) {
	random, tick := r.random(soakConns+1), time.NewTicker(5*time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stopping:
			return
		case <-tick.C:
		}
		if r.log.reloaded() == r.hups { // the machine may be slow
			r.hangUp(random)
		}
	}
}

func (r *soakRun) hangUp(random *rand.Rand) {
	r.hups++
	r.configure(random, r.hups%4 == 0)
	if err := r.site.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Error(err)
	}
}

// traffic runs everything for a time, and longer until enough has happened. Meanwhile it
// measures the daemon's memory.
func (r *soakRun) traffic(long time.Duration) *memoryTrend {
	stopping := make(chan struct{})
	var all sync.WaitGroup
	for i := range soakConns {
		all.Go(r.client(i, stopping).work)
	}
	u := r.reporter(stopping)
	all.Go(func() { u.work(r.t.Context()) })
	all.Go(func() { r.hangups(stopping) })
	memory := &memoryTrend{pid: r.site.Cmd.Process.Pid}
	begin, end, tick := time.Now(), time.After(long), time.NewTicker(long/200)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			memory.measure(r.t)
		case <-end:
			running = !r.isEnough() && time.Since(begin) < long+testenv.Patience
			end = time.After(time.Second)
		}
	}
	close(stopping)
	all.Wait()
	testenv.Eventually(r.t, "all reloads are logged", func() bool { return r.log.reloaded() >= r.hups })
	return memory
}

// isEnough reports whether there were as many messages as connections, with each verdict.
func (r *soakRun) isEnough() bool {
	verdicts := r.log.verdicts()
	return r.book.whole() >= soakConns && verdicts["spam"] > 0 && verdicts["skipped"] > 0 && verdicts["clean"] > 0
}

// client returns the client with a number: every second one uses the unix socket, every
// third one is in a network that is sometimes local.
func (r *soakRun) client(i int, stopping <-chan struct{}) *soakClient {
	c := &soakClient{post: r.post, book: r.book, random: r.random(i), network: "tcp", address: r.site.Milter,
		host: fmt.Sprintf("192.0.2.%d", i%250), pace: 2 * time.Second, longest: 4 * time.Second, stopping: stopping}
	if testenv.Soak() {
		c.longest = 30 * time.Second
	}
	if i%2 == 1 {
		c.network, c.address = "unix", r.unix
	}
	if i%3 == 0 {
		c.host, c.mayBeLocal = fmt.Sprintf("203.0.113.%d", i%250), true
	}
	return c
}

func (r *soakRun) reporter(stopping <-chan struct{}) *soakReporter {
	u := &soakReporter{soakClient: r.client(soakConns, stopping), site: r.site}
	u.pace, u.mayBeLocal, u.host = 300*time.Millisecond, false, "192.0.2.250"
	return u
}

// expectReported checks that each report is still listed after all traffic has ended.
func (r *soakRun) expectReported() {
	daemon := r.site.Client()
	for _, body := range r.post.reportedOnes() {
		if v := harness.Verdict(r.t, daemon, harness.Request(body)); v != "spam" {
			r.t.Errorf("a reported message is %s in the end", v)
		}
	}
}

// expectAnswered compares the clients' answers with the daemon's log.
func (r *soakRun) expectAnswered() {
	whole, judged := 0, map[string]int{}
	for id, sent := range r.book.sent {
		line, logged := r.log.message[id]
		if logged {
			judged[line.Verdict]++
		}
		if !sent.whole {
			continue
		}
		whole++
		switch a := sent.answer; {
		case !logged:
			r.t.Errorf("message %s was answered %+v, but is not in the log", id, a)
		case line.Verdict == "failed" && !r.mayFail(id):
			r.t.Errorf("message %s was not judged: %+v", id, line)
		case a.action() != line.Action || a.header != "" && a.verdict() != line.Verdict:
			r.t.Errorf("message %s was answered %+v, but logged %+v", id, a, line)
		case sent.want != "" && sent.want != line.Verdict:
			r.t.Errorf("message %s should be %s: %+v", id, sent.want, line)
		}
	}
	for id := range r.log.message {
		if _, known := r.book.sent[id]; !known {
			r.t.Errorf("message %q was judged, but not sent", id)
		}
	}
	for _, id := range r.log.failed {
		if !r.mayFail(id) {
			r.t.Errorf("message %s was not judged: %+v", id, r.log.message[id])
		}
	}
	for _, err := range r.book.faults {
		r.t.Error(err)
	}
	r.t.Logf("%d messages, %d of them to their end; verdicts %v; %d reports; turns %v",
		len(r.book.sent), whole, judged, len(r.post.reportedOnes()), r.book.turns)
	if whole < soakConns || judged["spam"] == 0 || judged["skipped"] == 0 || judged["clean"] == 0 {
		r.t.Error("too little traffic to show anything")
	}
}

// mayFail reports whether a message may be deferred: some configurations have no room for many long messages at a
// time, and how many arrive together depends on the machine.
func (r *soakRun) mayFail(id string) bool {
	return r.book.sent[id].isLong && r.log.message[id].Reason == "overload"
}

// expectLog checks that the log has no unexpected entries.
func (r *soakRun) expectLog() {
	if len(r.log.strange) > 0 {
		r.t.Errorf("outside the log:\n%s", strings.Join(r.log.strange, ""))
	}
	if len(r.log.twice) > 0 {
		r.t.Errorf("messages with two lines: %v", r.log.twice)
	}
	if len(r.log.errors) > 0 {
		r.t.Errorf("errors:\n%s", strings.Join(r.log.errors, ""))
	}
	r.t.Logf("%d hangups: %v", r.hups, r.log.reloads)
	if good := r.log.reloads["reloaded"]; good != r.hups-r.hups/4 || r.log.reloaded() != r.hups {
		r.t.Errorf("%d hangups, a quarter of them with a wrong file: %v", r.hups, r.log.reloads)
	}
}

// memoryTrend is the memory of a process over time.
type memoryTrend struct {
	pid int
	mib []float64 // resident, without mapped files
}

func (m *memoryTrend) measure(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", m.pid))
	if err != nil {
		t.Error(err)
		return
	}
	var all, resident, mapped int // pages; see proc(5)
	if _, err := fmt.Sscan(string(text), &all, &resident, &mapped); err != nil {
		t.Error(err)
	}
	m.mib = append(m.mib, float64((resident-mapped)*os.Getpagesize())/(1<<20))
}

// expectFlat checks that the last third has at most an eighth and 8 MiB more than the
// second: the largest messages come by chance. With the race detector the limit is a
// quarter and 32 MiB.
func (m *memoryTrend) expectFlat(t *testing.T) {
	t.Helper()
	third := len(m.mib) / 3
	if third == 0 {
		return // another process, or no time
	}
	median := func(part []float64) float64 {
		sorted := slices.Sorted(slices.Values(part))
		return sorted[len(sorted)/2]
	}
	warm, last := median(m.mib[third:2*third]), median(m.mib[2*third:])
	t.Logf("memory: %.0f MiB in the first third, %.0f in the second, %.0f in the last, at most %.0f",
		median(m.mib[:third]), warm, last, slices.Max(m.mib))
	limit := warm*1.125 + 8
	if !plainSoak {
		limit = warm*1.25 + 32
	}
	if last > limit {
		t.Error("memory grows")
	}
}
