package exchange_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A wrong password is reported without the password, and retried: the administrator
// corrects it in Redis, and nothing is lost.
func TestPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	defer c.Close()
	testenv.Check(t, c.ConfigSet(t.Context(), "requirepass", "another").Err())
	url := "unix://:geheim@" + server.Socket()
	a, b := startSites(t, url, url)
	testenv.Eventually(t, "the fault is reported", func() bool { return strings.Contains(a.x.Status().LastError, "WRONGPASS") })
	if e := a.x.Status().LastError; strings.Contains(e, "geheim") {
		t.Errorf("the error contains the password: %s", e)
	}
	traffic(t, a, b, func(i int) {
		if i == 30 {
			admin := redistest.Dial(t, "unix://:another@"+server.Socket()+redistest.Patient)
			testenv.Check(t, admin.ConfigSet(t.Context(), "requirepass", "geheim").Err())
		}
	})
	expectNewcomer(t, url)
}

// A Redis with TLS only, a certificate of a private CA, and required client certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := redistest.NewAuthority(t)
	a.Issue("redis", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	a.Issue("member", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	port := testenv.Port(t)
	redistest.Start(t, "--bind", "127.0.0.1", "--tls-port", fmt.Sprint(port), "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", a.Path("ca.pem"), "--tls-cert-file", a.Path("redis.pem"), "--tls-key-file", a.Path("redis.key"))
	url := fmt.Sprintf("rediss://127.0.0.1:%d", port)
	join := func(name string, files redisclient.Options) *site {
		client, err := redisclient.Dial(url, files)
		testenv.Check(t, err)
		return joinWith(t, siteOptions(t.TempDir(), name), client, exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond})
	}
	files := redisclient.Options{CA: a.Path("ca.pem"), Cert: a.Path("member.pem"), Key: a.Path("member.key")}
	one, two := join("one", files), join("two", files)
	stranger := join("stranger", redisclient.Options{CA: redistest.NewAuthority(t).Path("ca.pem")})
	traffic(t, one, two, func(int) {})
	testenv.Eventually(t, "the wrong CA is reported", func() bool {
		return strings.Contains(stranger.x.Status().LastError, "certificate signed by unknown authority")
	})
	if stranger.x.Status().Connected {
		t.Error("it trusted a server of another CA")
	}
	late := join("late", files)
	late.awaitAll("spam of a %d", 40)
}

// aclLines are the commands that FORMAT.md gives to administrators: the first creates the
// user, the second adds the permissions for a cluster.
func aclLines(t *testing.T, password string) (lines [][]any) {
	t.Helper()
	doc, err := os.ReadFile("FORMAT.md")
	testenv.Check(t, err)
	for _, found := range regexp.MustCompile(`(?m)^    (ACL SETUSER .*)$`).FindAllSubmatch(doc, -1) {
		var words []any
		for word := range strings.FieldsSeq(strings.Replace(string(found[1]), ">PASSWORD", ">"+password, 1)) {
			words = append(words, word)
		}
		lines = append(lines, words)
	}
	if len(lines) != 2 {
		t.Fatalf("FORMAT.md has %d ACL SETUSER lines", len(lines))
	}
	return lines
}

// The documented permissions suffice for operation with losses, and all of them are needed:
// Redis counts the same commands as the line lists.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	defer admin.Close()
	words := aclLines(t, "geheim")[0]
	testenv.Check(t, admin.Do(t.Context(), words...).Err())
	user := "unix://spambloom:geheim@" + server.Socket()
	dir := t.TempDir()
	a := startSite(t, dir, "a", user)
	b := startSite(t, t.TempDir(), "b", user)
	traffic(t, a, b, func(i int) {
		switch i {
		case 20:
			admin.FlushAll(t.Context())
		case 30: // another client writes to the stream
			admin.XAdd(t.Context(), &redis.XAddArgs{Stream: a.keys().StreamKey("a"), ID: "18446744073709551613-1", Values: []any{"x", "y"}})
		}
	})
	expectNewcomer(t, user)
	a.stop()
	a = startSite(t, dir, "a", user)
	a.report(mail("after"))
	testenv.Eventually(t, "it continues", func() bool { return b.lists(mail("after")) })

	expectNothingDenied(t, admin)
	for _, unused := range unusedRights(t, admin, words) {
		t.Errorf("the permission %s is not used", unused)
	}
	expectForbidden(t, redistest.Dial(t, user+redistest.Patient))
}

// A client with the password sends a script that does not end, and leaves. The sites name the cause,
// and have all reports once Redis was killed and started again.
func TestScriptWithoutEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--busy-reply-threshold", "1")
	allow := func() {
		admin := server.Client()
		defer admin.Close()
		testenv.Check(t, admin.Do(t.Context(), aclLines(t, "geheim")[0]...).Err())
	}
	allow()
	user := "unix://spambloom:geheim@" + server.Socket() + "?read_timeout=300ms" // Redis takes a processor meanwhile
	a, b := startSites(t, user, user)
	a.awaitConnected()
	attacker := redistest.Dial(t, user)
	testenv.Eventually(t, "the attacker is connected", func() bool { return attacker.Ping(t.Context()).Err() == nil })
	script := "redis.call('HSET', KEYS[1], 'a', 'b') while true do end"
	if err := attacker.Eval(t.Context(), script, []string{a.keys().VotesKey()}).Err(); err == nil {
		t.Fatal("the script has ended")
	}
	testenv.Check(t, attacker.Close())
	testenv.Eventually(t, "the cause is shown", func() bool {
		fault := a.x.Status().Fault
		return fault != nil && fault.Cause == link.Busy
	})
	a.report(mail("meanwhile"))
	server.Kill()
	server.Start()
	allow()
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("meanwhile")) })
}

func expectNothingDenied(t *testing.T, admin *redisclient.Client) {
	t.Helper()
	denied, err := admin.Do(t.Context(), "ACL", "LOG").Slice()
	if err != nil || len(denied) > 0 {
		t.Errorf("denied: %v, %v", denied, err)
	}
}

// onOccasion are commands that a short, busy run may not need: a ping without traffic, a
// check of the existing entry after a repeated command, and the trimming after a later
// snapshot.
var onOccasion = []string{"+ping", "+xrevrange", "+xtrim"}

// unusedRights returns the commands of the line that were not used.
func unusedRights(t *testing.T, admin *redisclient.Client, line []any) (unused []string) {
	t.Helper()
	stats := admin.Info(t.Context(), "commandstats").Val()
	for _, word := range line {
		right := word.(string)
		command, ok := strings.CutPrefix(right, "+")
		if ok && !slices.Contains(onOccasion, right) && !strings.Contains(stats, "cmdstat_"+command+":") {
			unused = append(unused, right)
		}
	}
	return unused
}

// expectForbidden checks the limits of a stolen password.
func expectForbidden(t *testing.T, user *redisclient.Client) {
	t.Helper()
	for _, command := range [][]any{
		{"FLUSHALL"}, {"KEYS", "*"}, {"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"SHUTDOWN"},
		{"SET", "elsewhere", "x"}, {"XADD", "elsewhere", "*", "a", "b"}, {"PUBLISH", "elsewhere", "x"},
		{"EVAL", "return redis.call('SET', KEYS[1], 'x')", 1, "elsewhere"},
	} {
		err := user.Do(t.Context(), command...).Err()
		if err == nil || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(), "can't access") {
			t.Errorf("%v: %v", command, err)
		}
	}
}
