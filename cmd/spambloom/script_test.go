package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/server"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/reporting/watch"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) {
	testscript.Main(program{m}, map[string]func(){"spambloom": main})
}

// program runs the tests of the command. With the race detector, the command is the program of
// the end-to-end tests. The test binary is a copy of it, but needs a third more of the processor
// to start, because it initialises the daemon's packages as well, and scripts start it 900 times.
type program struct{ *testing.M }

func (p program) Run() int {
	testenv.InMemory()
	if !testenv.Race {
		return p.M.Run()
	}
	return harness.Main(p.M)
}

// usesProgram puts the program into PATH. In -short no program is built.
func usesProgram(t *testing.T) {
	t.Helper()
	if testenv.Race && !testing.Short() {
		t.Setenv("PATH", filepath.Dir(harness.Program(t, "spambloom"))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
}

// TestScripts runs the command as a separate process, against the daemon's database and
// control API in this process.
func TestScripts(t *testing.T) {
	usesProgram(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			d, err := startDaemon()
			if err != nil {
				return err
			}
			env.Defer(d.remove)
			env.Values["daemon"] = d
			env.Setenv("SOCKETS", d.dir)
			contrib, err := filepath.Abs("../../contrib")
			if err != nil {
				return err
			}
			env.Setenv("CONTRIB", contrib)
			env.Setenv("LONG", strings.Repeat("x", 5000))
			// The race detector would delay the exit of each process by a second.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("SPAMBLOOM_QUEUE", filepath.Join(env.WorkDir, "queue"))
			env.Setenv("SPAMBLOOM_CONTROL", "unix:"+d.socket("daemon"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits,
			"count": cmdCount,
			"halt":  func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(daemonOf(ts).stop()) },
			"start": func(ts *testscript.TestScript, _ bool, _ []string) {
				d := daemonOf(ts)
				ts.Check(d.serve("daemon", d.api))
			},
			"fill":   cmdFill,
			"fake":   cmdFake,
			"log":    cmdLog,
			"apply":  cmdApply,
			"remote": cmdRemote,
			"judged": cmdJudged,
			"mails":  cmdMails,
			"large":  cmdLarge,

			"page":  cmdPage,
			"spoil": cmdSpoil,
			"mend":  cmdSpoil,
			"stale": cmdStale,
		},
	})
}

// daemon is a database behind a control socket, as the command sees spambloomd.
type daemon struct {
	dir     string // short enough for sockets
	db      *bloomdb.DB
	log     *testenv.Log
	ledger  *ledger.Ledger
	judged  *judged.List
	api     http.Handler
	servers []*http.Server
	done    chan error // one value from each server
}

func (d *daemon) socket(name string) string { return filepath.Join(d.dir, name+".sock") }

func startDaemon() (*daemon, error) {
	dir, err := os.MkdirTemp("", "spambloom")
	if err != nil {
		return nil, err
	}
	d := &daemon{dir: dir, log: &testenv.Log{}, done: make(chan error)}
	d.db, err = bloomdb.Open(smallOptions(filepath.Join(dir, "state"), "mx1"))
	if err != nil {
		return nil, err
	}
	d.ledger, err = ledger.Open(ledger.Options{Path: filepath.Join(dir, "reports.db"), Model: trust.Default()})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "state", "site.key"), []byte("a key\n"), 0o600); err != nil {
		return nil, err
	}
	d.judged = judged.New(time.Now(), 1<<20)
	policy := policy.Policy{BulkThreshold: 20}
	links := func() []api.Link {
		heard := time.Now()
		return []api.Link{
			{Site: "mx2", Heard: &heard, Lag: 4, LagSeconds: 2.5, Gaps: 1, Refused: map[string]int64{"unsigned": 3}, Votes: 17},
			{Site: "mx3", SkewSeconds: -7300, Clock: true},
		}
	}
	counter := desk.New(d.db, d.ledger, desk.Options{Log: d.log.Logger(), Judged: d.judged, HoldFrom: 20})
	handler := server.NewHandler(counter, server.HandlerOptions{
		Decide: func(e bloomdb.Evidence, signed bool) string { return string(policy.Decide(e, signed).Verdict) },
		Status: func() any {
			site := map[string]any{"site": "mx2", "heard": time.Now(), "lag": 4, "gaps": 0}
			return map[string]any{
				"milter":   []string{"inet:8899@127.0.0.1"},
				"exchange": map[string]any{"connected": true, "sites": []any{site}},
			}
		},
		Sites: func() []api.Site { return counter.Sites(links()) },
		Overview: func(s api.Status) *overview.Overview {
			return watch.Make(watch.Facts{
				Status: s, Sites: counter.Sites(links()), Exchange: true, Connected: true, TargetError: 1e-6, Started: time.Now().Add(-time.Hour),
				LastDay:   map[string]uint64{"clean": 15_000, "bulk": 1091, "spam": 2311, "spam_by_others": 1480, "spam_from:mx2": 1480, "skipped": 8, "skipped_little": 8, "reports": 12},
				DayBefore: map[string]uint64{"clean": 15_746, "spam": 2204},
			}, time.Now())
		},
		Strangers: func() map[string]int64 { return map[string]int64{"stranger": 5} },
		Version:   "1.2.3",
		Folder:    filepath.Join(dir, "state"),
		Keys:      []string{filepath.Join(dir, "state", "site.key"), "/etc/spambloom/federation.key"},
		Access:    server.NewAccess(server.AccessOptions{DaemonUID: os.Getuid()}),
	})
	d.api = handler
	return d, d.serve("daemon", handler)
}

func smallOptions(dir, site string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: site, Key: [32]byte{1},
		Reports: bloomdb.ReportOptions{Capacity: 4000, Classes: true},
		Counts:  bloomdb.CountOptions{Capacity: 1000, Burst: 10 * time.Minute},
	}
}

// serve serves a handler on the socket of that name.
func (d *daemon) serve(name string, h http.Handler) error {
	ln, err := net.Listen("unix", d.socket(name))
	if err != nil {
		return err
	}
	s := server.New(h, nil)
	d.servers = append(d.servers, s)
	go func() {
		d.done <- s.Serve(server.NewDoor(server.DoorOptions{DaemonUID: os.Getuid()}).Listen(ln))
	}()
	return nil
}

// stop ends all servers and removes their sockets, like a clean stop.
func (d *daemon) stop() error {
	var errs error
	for _, s := range d.servers {
		errs = errors.Join(errs, s.Shutdown(context.Background()))
		if err := <-d.done; !errors.Is(err, http.ErrServerClosed) {
			errs = errors.Join(errs, err)
		}
	}
	d.servers = nil
	return errs
}

func (d *daemon) remove() {
	if err := errors.Join(d.stop(), d.ledger.Close(), d.db.Check(), d.db.Close(), os.RemoveAll(d.dir)); err != nil {
		panic(err) // testscript has no t here
	}
}

func daemonOf(ts *testscript.TestScript) *daemon { return ts.Value("daemon").(*daemon) }

// cmdExits: exits CODE COMMAND ARGS... runs a command, which must exit with CODE.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// cmdCount: count N FILE counts a message as the milter does.
func cmdCount(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseUint(args[0], 10, 32)
	ts.Check(err)
	set := signature.Compute(signature.Parse([]byte(ts.ReadFile(args[1]))))
	ts.Check(daemonOf(ts).db.Count(set, uint32(n)))
}

// cmdJudged: judged VERDICT QUEUEID FILE [SENDER] has the daemon remember a judgement like the
// milter's, and the sender that spared the message.
func cmdJudged(ts *testscript.TestScript, _ bool, args []string) {
	d, set := daemonOf(ts), signature.Compute(signature.Parse([]byte(ts.ReadFile(args[2]))))
	e, shown := d.db.Judge(set), set.Counting
	for _, m := range e.Matches {
		shown = append([]signature.Signature{m.Signature}, shown...)
	}
	if !e.Listed {
		set.Sketches, set.Domains = nil, nil
	}
	d.judged.Add(judged.Message{At: time.Now(), Verdict: args[0], QueueID: args[1], Shown: shown, Set: set, Spared: strings.Join(args[3:], "")})
}

// cmdApply: apply SITE FILE applies a delta in which another site reports a message.
func cmdApply(ts *testscript.TestScript, _ bool, args []string) {
	d := daemonOf(ts)
	o := smallOptions(filepath.Join(d.dir, args[0]), args[0])
	o.Exchange = true
	other, err := bloomdb.Open(o)
	ts.Check(err)
	defer other.Close()
	ts.Check(other.Resume(0, 0))
	ts.Check(other.Report(signature.Compute(signature.Parse([]byte(ts.ReadFile(args[1])))), bloomdb.ClassOther))
	delta, _, err := other.NextDelta(true)
	ts.Check(err)
	ts.Check(d.db.Apply(delta.Data, bloomdb.Next))
	ts.Check(other.Published(delta))
}

// cmdFake: fake STATUS BODY starts a server at the socket that gives this answer to every
// request; with status 0 it closes the connection.
func cmdFake(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	name := "fake" + args[0]
	ts.Check(daemonOf(ts).serve(name, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, args[1])
	})))
	ts.Setenv("SPAMBLOOM_CONTROL", "unix:"+daemonOf(ts).socket(name))
}

// cmdFill: fill N adds N reports to the queue.
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	q := queue.New(ts.Getenv("SPAMBLOOM_QUEUE"), queue.Options{})
	for range n {
		ts.Check(q.Add(queue.Entry{At: time.Now(), Verb: "report", Control: ts.Getenv("SPAMBLOOM_CONTROL")}))
	}
}

// cmdLog: log writes the daemon's log to the file daemon.log.
func cmdLog(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.WriteFile(ts.MkAbs("daemon.log"), []byte(daemonOf(ts).log.String()), 0o600))
}

// cmdPage: page FILE writes the blocks of shell commands of a page in contrib to the files
// page1, page2 and so on.
func cmdPage(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join("../../contrib", args[0]))
	ts.Check(err)
	for i, block := range strings.Split(string(text), "```sh\n")[1:] {
		lines, _, _ := strings.Cut(block, "```")
		ts.Check(os.WriteFile(ts.MkAbs(fmt.Sprintf("page%d", i+1)), []byte(lines), 0o600))
	}
}

// cmdLarge: large FILE [TEXT...] writes a message with the text of these files, followed by
// an attachment of 11 MiB.
func cmdLarge(ts *testscript.TestScript, _ bool, args []string) {
	text := ""
	for _, file := range args[1:] {
		text += "--x\nContent-Type: text/plain\n\n" + ts.ReadFile(file) + "\n"
	}
	line := strings.Repeat("x", 990) + "\n"
	message := "Subject: large\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n" + text +
		"--x\nContent-Type: application/zip; name=a.zip\nContent-Disposition: attachment; filename=a.zip\n\n" +
		strings.Repeat(line, 11<<20/len(line)) + "--x--\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(message), 0o600))
}
