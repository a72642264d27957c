package doors

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/rspamd"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// proxyConf runs rspamd's milter, with the guide's rules and with its own rule for flags of other
// filters. It adds a header with the rules that matched.
const proxyConf = `
lua = "%[1]s/first.lua";
logging { type = "file"; filename = "%[1]s/log"; level = "notice"; }
metric { name = "default"; actions { reject = 15; add_header = 14; greylist = 13; } unknown_weight = 1.0; }
worker "rspamd_proxy" {
  bind_socket = "127.0.0.1:%[2]d"; milter = yes; timeout = 120s; count = 1;
  upstream "local" { default = yes; self_scan = yes; hosts = "127.0.0.1:1"; }
}
milter_headers { use = ["x-spamd-result"]; skip_local = false; }
multimap { %[3]s }
`

// flagRules loads the rules of rspamd's package for headers such as X-Spam-Flag.
const flagRules = `
require "global_functions" ()
config['regexp'] = {}
dofile("/usr/share/rspamd/rules/regexp/upstream_spam_filters.lua")
`

// inARow is a Postfix that asks spambloomd and then rspamd, with the guide's line.
func inARow(t *testing.T, flag string) (*harness.Site, *harness.Postfix) {
	t.Helper()
	program, dir, port := testenv.Program(t, "rspamd"), rspamd.Folder(t), testenv.Port(t)
	for _, module := range []string{"multimap.lua", "milter_headers.lua"} {
		text := harness.Execute(t, "", "cat", "/usr/share/rspamd/plugins/"+module).Stdout
		harness.Write(t, filepath.Join(dir, "modules", module), text)
	}
	harness.Write(t, filepath.Join(dir, "first.lua"), flagRules)
	_, ended := rspamd.Start(t, program, dir, "regexp", fmt.Sprintf(proxyConf, dir, port, harness.PageBlock(t, "beside.md", "SPAMBLOOM_SAME {")))
	testenv.Eventually(t, "rspamd listens", func() bool {
		select {
		case <-ended:
			t.Fatal("rspamd ended")
		default:
		}
		conn, err := net.Dial("tcp", testenv.Local(port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	s := harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), "")
	s.Overlay(t, fmt.Sprintf("[milter]\nspam_flag = %q\n[reports]\nclasses = true\n", flag))
	s.Start()
	p := harness.NewPostfix(t)
	p.Extra = strings.NewReplacer("127.0.0.1:8899", s.Milter, "127.0.0.1:11332", testenv.Local(port)).Replace(harness.PageBlock(t, "beside.md", "smtpd_milters ="))
	return s, p.Start("mx1", "inet:127.0.0.1:1", "n")
}

// Two milters in a row: rspamd sees the header of spambloomd, and gives it its score once. With
// the flag that the guide advises against, rspamd counts the message twice. A forged header counts
// for nothing.
func TestRspamdInARow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, class string
		rules             []string // that match a copy, besides the score
		score             string
	}{
		{"copy", "", "", []string{"SPAMBLOOM_SAME(8.00)"}, "8.00"},
		{"phish", "", "phish", []string{"SPAMBLOOM_PHISH(3.00)", "SPAMBLOOM_SAME(8.00)"}, "11.00"},
		{"flag", "X-Spam-Flag", "", []string{"SPAMBLOOM_SAME(8.00)", "SPAM_FLAG(5.00)"}, "13.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, p := inARow(t, c.flag)
			text := harness.Text()
			expect := func(verdict, score string, rules []string) {
				t.Helper()
				d := p.Send(harness.Message(text, "X-Spambloom: spam; kind=body; class=phish; count=9"))
				if got, _ := d.Verdict(t); got != verdict {
					t.Errorf("the verdict is %s, want %s", got, verdict)
				}
				result := d.Header.Get("X-Spamd-Result")
				matched := regexp.MustCompile(`SPAM[A-Z_]+\([0-9.-]+\)`).FindAllString(result, -1)
				slices.Sort(matched)
				if !strings.Contains(result, "["+score+" / 15.00]") || !slices.Equal(matched, rules) {
					t.Errorf("rspamd: %q, want the score %s of %q", result, score, rules)
				}
			}
			expect("clean", "0.00", nil)
			message := harness.Write(t, filepath.Join(s.Dir, "message"), harness.Message(text))
			if r := s.CLI(append([]string{"report", message}, classFlag(c.class)...)...); r.Code != 0 {
				t.Fatalf("report: %+v", r)
			}
			expect("spam", c.score, c.rules)
		})
	}
}

func classFlag(class string) []string {
	if class == "" {
		return nil
	}
	return []string{"--class", class}
}
