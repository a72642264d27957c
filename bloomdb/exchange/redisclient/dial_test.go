package redisclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
)

func TestDialServer(t *testing.T) {
	for _, test := range []struct {
		url, network, addr, user, password string
		db                                 int
		tls                                bool
	}{
		{url: "redis://127.0.0.1:6379/0", network: "tcp", addr: "127.0.0.1:6379"},
		{url: "redis://u:p%40ss@host/3", network: "tcp", addr: "host:6379", user: "u", password: "p@ss", db: 3},
		{url: "rediss://[::1]:7000", network: "tcp", addr: "[::1]:7000", tls: true},
		{url: "unix:///run/redis/s?db=2", network: "unix", addr: "/run/redis/s", db: 2},
		{url: "unix:///run/a,b/s", network: "unix", addr: "/run/a,b/s"},
		{url: "unix:///run/redis%401/s", network: "unix", addr: "/run/redis@1/s"},
	} {
		c := redistest.Dial(t, test.url).UniversalClient.(*redis.Client)
		o := c.Options()
		if o.Network != test.network || o.Addr != test.addr || o.Username != test.user || o.Password != test.password ||
			o.DB != test.db || (o.TLSConfig != nil) != test.tls {
			t.Errorf("%s: %+v", test.url, o)
		}
		if o.DialTimeout != 2*time.Second || o.ReadTimeout != 3*time.Second || o.WriteTimeout != 3*time.Second {
			t.Errorf("%s: timeouts %v %v %v", test.url, o.DialTimeout, o.ReadTimeout, o.WriteTimeout)
		}
	}
	if o := redistest.Dial(t, "redis://h?read_timeout=9s").UniversalClient.(*redis.Client).Options(); o.ReadTimeout != 9*time.Second {
		t.Errorf("the URL's own timeout became %v", o.ReadTimeout)
	}
}

func TestDialCluster(t *testing.T) {
	c := redistest.Dial(t, "rediss://u:p@h1:7000,h2:7001,[::1]:7002/0").UniversalClient.(*redis.ClusterClient)
	o := c.Options()
	if strings.Join(o.Addrs, " ") != "h1:7000 h2:7001 [::1]:7002" || o.Username != "u" || o.Password != "p" {
		t.Errorf("%+v", o)
	}
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Error("every node must be verified by its own name")
	}
}

func TestDialSentinels(t *testing.T) {
	c := redistest.Dial(t, "redis://s1:26379,s2:26379/1?master_name=m&username=u&password=p").UniversalClient.(*redis.Client)
	if o := c.Options(); o.Addr != "sentinels" || o.Username != "u" || o.Password != "p" || o.DB != 1 {
		t.Errorf("%+v", o)
	}
}

func TestDialRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"":                                                     "invalid URL scheme",
		"http://host":                                          "invalid URL scheme",
		"redis://host/x":                                       "the database must be a number",
		"redis://h:1/geheim":                                   "the database must be a number",
		"redis://h:1/0/geheim":                                 "the database must be a number",
		"redis://h:1/0?db=geheim":                              "the database must be a number",
		"unix:///run/s?db=geheim":                              "the database must be a number",
		"redis://h1:1,h2:2/geheim":                             "the database must be a number",
		"redis://h1:1,h2:2/geheim?master_name=m":               "the database must be a number",
		"redis://h/0?addr=u:geheim@h2":                         "only before the first host",
		"redis://h:1/0?addr=u%3Ageheim%40h2:2":                 "only before the first host",
		"redis://h:1?master_name=m&addr=:geheim@h2:2":          "only before the first host",
		"redis://h?addr=:geheim":                               "only before the first host",
		"redis://h?addr=h2/geheim":                             "only before the first host",
		"redis://host?tpyo=1":                                  "unexpected option: tpyo",
		"unix://":                                              "empty unix socket path",
		"redis://u:geheim@host:port":                           "the port must be a number",
		"redis://u:12/geheim@host:6379/0":                      "write @ as %40, / as %2F",
		"redis://u:x/geheim@host:6379/0":                       "write @ as %40, / as %2F",
		"redis://u:x?geheim@host:6379/0":                       "write @ as %40, / as %2F",
		"redis://u:%zzgeheim@host":                             "% as %25",
		"redis://u:12#geheim@host/0":                           "# as %23",
		"redis:u:geheim@host":                                  "cannot be read",
		"unix://u:12/geheim@/run/s":                            "write @ as %40, / as %2F",
		"unix://u:/geheim@/run/s":                              "write @ as %40, / as %2F",
		"unix://:/geheim@/run/s":                               "write @ as %40, / as %2F",
		"unix:///geheim@/run/s":                                "write @ as %40, / as %2F",
		"redis://u:geheim@h1,h2/5":                             "a cluster has no database /5",
		"redis://u:geheim@h1:1,h2":                             "unable to parse addr",
		"redis://u:geheim@h\x7f":                               "cannot be read",
		"redis://h1:1,h2:2?master_name=&x=":                    "unexpected option",
		"redis://h?password=a&geheim":                          "write & as %26",
		"redis://h1:1,h2:2?master_name=m&password=a&db=geheim": "write & as %26",
		// lines of hostile invitations contain such URLs
		"redis://u:geheim@host?pool_size=-1":            "pool_size=-1",
		"redis://u:geheim@host?pool_size=99999999999":   "pool_size=99999999999",
		"redis://u:geheim@host?pool_size=2147483647":    "pool_size=2147483647",
		"redis://host?max_active_conns=99999999999":     "max_active_conns=99999999999",
		"redis://host?pipeline_read_buffer_size=1<<40":  "invalid pipeline_read_buffer_size number",
		"redis://host?pipeline_pool_size=99999999999":   "pipeline_pool_size=99999999999",
		"redis://h1:1,h2:2?min_idle_conns=99999999999":  "min_idle_conns=99999999999",
		"redis://h1:1,h2:2?master_name=m&pool_size=-10": "pool_size=-10",
	} {
		c, err := redisclient.Dial(url, redisclient.Options{})
		if err == nil {
			c.Close()
			t.Errorf("%s: no error", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v; want %q and no password", url, err, want)
		}
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		l := redisclient.Logger{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))}
		l.Printf(context.Background(), "pool %d", int(level))
	}
	if got := out.String(); !strings.Contains(got, `msg="pool -4"`) || strings.Contains(got, "pool 0") {
		t.Error(got)
	}
}
