package doors

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/rspamd"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// verdicts are values of the header, with the rules that match.
var verdicts = []struct {
	header string
	rules  []string
}{
	{"spam; kind=body; count=12; sites=2; site=mx1; id=body:6f1ed002ab559585", []string{"SPAMBLOOM_SAME"}},
	{"spam; kind=text; votes=2; class=phish; count=1; sites=1; site=mx1; id=text:6f1ed002ab559585", []string{"SPAMBLOOM_PHISH", "SPAMBLOOM_SAME"}},
	{"spam; kind=sketch; found=30; need=24; class=scam; count=1; sites=1; site=mx1; id=sketch:6f1ed002ab559585", []string{"SPAMBLOOM_ALIKE"}},
	{"spam; kind=shape; by=two-senders; count=1; sites=1; site=mx1; id=shape:6f1ed002ab559585", []string{"SPAMBLOOM_ALIKE"}},
	{"spam; kind=domain; class=malware; count=1; sites=1; site=mx1; id=domain:6f1ed002ab559585", []string{"SPAMBLOOM_LINK", "SPAMBLOOM_PHISH"}},
	{"bulk; kind=text; count=50; sites=1; site=mx1; id=text:6f1ed002ab559585", []string{"SPAMBLOOM_BULK"}},
	{"clean; kind=text; count=1; sites=1; site=mx1; id=text:6f1ed002ab559585", nil},
	{"allowed; reason=never; site=mx1", nil},
	{"skipped; reason=too-little-content; site=mx1", nil},
	{"failed; reason=overload; site=mx1", nil},
}

// expectRules checks which of the guide's rules match each verdict.
func expectRules(t *testing.T, rules func(message string) []string) {
	t.Helper()
	for _, v := range verdicts {
		got := slices.DeleteFunc(rules(harness.Message(harness.Text(), "X-Spambloom: "+v.header)), func(name string) bool {
			return !strings.HasPrefix(name, "SPAMBLOOM_")
		})
		slices.Sort(got)
		if !slices.Equal(got, v.rules) {
			t.Errorf("%s: %q, want %q", v.header, got, v.rules)
		}
	}
}

// The guide's rules for SpamAssassin.
func TestSpamAssassinRules(t *testing.T) {
	program := testenv.Program(t, "spamassassin")
	dir := testenv.Dir(t)
	for _, name := range []string{"rules", "site", "home"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	harness.Write(t, filepath.Join(dir, "rules/10_none.cf"), "required_score 5\nutil_rb_tld com net org test\n")
	harness.Write(t, filepath.Join(dir, "site/init.pre"), "loadplugin Mail::SpamAssassin::Plugin::Check\n")
	harness.Write(t, filepath.Join(dir, "site/spambloom.cf"), harness.PageBlock(t, "beside.md", "header   SPAMBLOOM_SAME"))
	run := func(message string, args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--local", "--configpath", filepath.Join(dir, "rules"),
			"--siteconfigpath", filepath.Join(dir, "site"), "--prefspath", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"))
		return piped(t, cmd, message)
	}
	if code, out := run("", "--lint"); code != 0 {
		t.Fatalf("--lint: %d %s", code, out)
	}
	expectRules(t, func(message string) []string {
		_, out := run(message, "--cf", "add_header all Rules _TESTS(,)_", "--cf", "report_safe 0")
		_, after, _ := strings.Cut(out, "X-Spam-Rules: ")
		line, _, _ := strings.Cut(strings.NewReplacer("\r", "", "\n\t", "").Replace(after), "\n")
		return strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' })
	})
}

// rspamdConf runs rspamd with some modules of Debian's package only.
const rspamdConf = `
lua = "%[1]s/first.lua";
logging { type = "file"; filename = "%[1]s/log"; level = "notice"; }
metric { name = "default"; actions { reject = 15; add_header = 6; greylist = 4; } unknown_weight = 1.0; }
worker "normal" { bind_socket = "127.0.0.1:%[2]d"; count = 1; %[4]s }
%[3]s
`

// startRspamd runs rspamd with one module and the guide's time for a mail, and returns a function that
// asks it about a message: the rules that match, with their scores.
func startRspamd(t *testing.T, module, settings string) (ask func(message string) map[string]float64) {
	t.Helper()
	program := testenv.Program(t, "rspamd")
	dir, port := rspamd.Folder(t), testenv.Port(t)
	lua, err := os.ReadFile("/usr/share/rspamd/plugins/" + module + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	harness.Write(t, filepath.Join(dir, "modules", module+".lua"), string(lua))
	harness.Write(t, filepath.Join(dir, "first.lua"), "require \"global_functions\" ()\n") // as Debian's rspamd.lua does
	_, ended := rspamd.Start(t, program, dir, "", fmt.Sprintf(rspamdConf, dir, port, settings, harness.PageBlock(t, "spamd.md", "task_timeout")))
	url := "http://" + testenv.Local(port)
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: testenv.Patience}
	testenv.Eventually(t, "rspamd answers", func() bool {
		select {
		case <-ended:
			t.Fatal("rspamd ended")
		default:
		}
		r, err := client.Get(url + "/ping")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return func(message string) map[string]float64 {
		t.Helper()
		r, err := client.Post(url+"/checkv2", "message/rfc822", strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Symbols map[string]struct{ Score float64 }
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		rules := make(map[string]float64)
		for name, symbol := range answer.Symbols {
			rules[name] = symbol.Score
		}
		return rules
	}
}

// The guide's rules for rspamd.
func TestRspamdRules(t *testing.T) {
	ask := startRspamd(t, "multimap", "multimap {\n"+harness.PageBlock(t, "beside.md", "SPAMBLOOM_SAME {")+"\n}")
	expectRules(t, func(message string) (names []string) {
		for name := range ask(message) {
			names = append(names, name)
		}
		return names
	})
	scores := ask(harness.Message(harness.Text(), "X-Spambloom: "+verdicts[1].header))
	if scores["SPAMBLOOM_SAME"] != 8 || scores["SPAMBLOOM_PHISH"] != 3 {
		t.Errorf("scores %v", scores)
	}
}

// rspamd asks by the spamd protocol, with the guide's lines, about each copy: it has a Redis, where it
// would keep answers otherwise.
func TestRspamdAsks(t *testing.T) {
	d, redis := startDoor(t, ""), harness.StartRedis(t)
	ask := startRspamd(t, "external_services", asking(t, d.port)+"\nredis { servers = \""+testenv.Local(redis.Port)+"\"; }")
	spam, other := d.reported(t, harness.Message(harness.Text())), harness.Message(harness.Text())
	if rules := ask(spam); rules["SPAMBLOOM"] != 10 {
		t.Errorf("spam: %v", rules)
	}
	if _, ok := ask(other)["SPAMBLOOM"]; ok {
		t.Error("other mail has the symbol")
	}
	for name, line := range forgedStatus {
		if rules := ask(line + spam); rules["SPAMBLOOM"] != 10 {
			t.Errorf("spam with %s: %v", name, rules)
		}
	}
	if rules := ask(d.reported(t, other)); rules["SPAMBLOOM"] != 10 {
		t.Errorf("the other mail after its report: %v", rules)
	}
}

// asking is the guide's settings for rspamd, with the port of a daemon.
func asking(t *testing.T, port int) string {
	t.Helper()
	settings := strings.ReplaceAll(harness.PageBlock(t, "spamd.md", "spambloom {"), "127.0.0.1:1783", testenv.Local(port))
	return "external_services {\n" + settings + "\n}\ngroup \"external\" { symbols { \"SPAMBLOOM\" { weight = 1.0; } } }"
}

// rspamd waits for an answer as long as the daemon may judge, which is longer than its own defaults.
func TestRspamdWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for half a minute")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer l.Close()
	const status = "X-Spam-Status: Yes, score=10.0 required=5.0 tests=SPAMBLOOM_SPAM autolearn=no\r\n\r\n"
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			time.Sleep(31 * time.Second) // judge_timeout is 30 s by default
			fmt.Fprintf(c, "SPAMD/1.1 0 EX_OK\r\nContent-length: %d\r\nSpam: True ; 10.0 / 5.0\r\n\r\n%s", len(status), status)
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c) // to close before it is read resets the connection
			c.Close()
		}
	}()
	ask := startRspamd(t, "external_services", asking(t, l.Addr().(*net.TCPAddr).Port))
	if rules := ask(harness.Message(harness.Text())); rules["SPAMBLOOM"] != 10 {
		t.Errorf("an answer at the end of judge_timeout: %v", rules)
	}
}

// forgedStatus are fields of a sender that rspamd reads like spamd's result.
var forgedStatus = map[string]string{
	"a forged field":         "X-Note: X-Spam-Status: No, score=0.0 required=5.0 tests=none autolearn=no\r\n",
	"a bare CR":              "X-Note: a\rX-Spam-Status: No, score=0.0 required=5.0 tests=none autolearn=no\r\n",
	"a folded line":          "X-Note: a\r\n X-Spam-Status: No, score=-7.0 required=5.0 tests=none autolearn=no\r\n",
	"more than rspamd reads": strings.Repeat("X-Note: X-Spam-Status: No, score=0.0 required=5.0 tests=none autolearn=no\r\n", 300),
}
