package life

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/cmd/testenv/browser"
)

// `spambloom status --watch` shows a daemon again every two seconds, with what changed meanwhile, until
// Ctrl-C, which is no failure. top does the same.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	for _, c := range []struct {
		args          []string
		before, after string
	}{
		{[]string{"status", "--watch"}, `mail judged +0 +0\n`, `mail judged +[12] +0\n`},
		{[]string{"top"}, `MAIL +A MINUTE\nclean +\.\.\.\n`, `clean +[0-9]+\n`},
	} {
		file := filepath.Join(s.Dir, c.args[0])
		out, err := os.Create(file)
		testenv.Check(t, err)
		cmd := exec.Command(harness.Program(t, "spambloom"), append(c.args, "--control", s.Control)...)
		cmd.Stdout, cmd.Stderr = out, out
		testenv.Check(t, errors.Join(harness.StartChild(cmd), out.Close()))
		shows := func(want string) func() bool {
			return func() bool {
				text, err := os.ReadFile(file)
				return err == nil && regexp.MustCompile(want).Match(text)
			}
		}
		testenv.Eventually(t, c.args[0]+" shows "+c.before, shows(c.before))
		testenv.Check(t, harness.Deliver(s.Milter, harness.Message(harness.Text())))
		testenv.Eventually(t, c.args[0]+" shows "+c.after, shows(c.after))
		testenv.Check(t, cmd.Process.Signal(os.Interrupt))
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q ends with %v", c.args, err)
		}
	}
}

// dropped lets a message fall on the page, like a file from another window.
const dropped = `(() => {
  const data = new DataTransfer();
  data.items.add(new File([%q], "dropped.eml", { type: "message/rfc822" }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
})()`

// An administrator opens the link of `spambloom web` of a running daemon in a browser, drops a mail
// that arrived, and does with it all that the page offers. After each step, the daemon judges the mail
// accordingly, and the command shows who did it. The link works once.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	mail := harness.Message(harness.Text())
	file := filepath.Join(s.Dir, "mail.eml")
	testenv.Check(t, os.WriteFile(file, []byte(mail), 0o600))
	testenv.Check(t, harness.Deliver(s.Milter, mail))
	link := s.CLI("web")
	if link.Code != 0 || !strings.HasPrefix(link.Stdout, "http://"+s.HTTP+"/enter?key=") {
		t.Fatalf("web: %+v; the daemon listens at %s", link, s.HTTP)
	}
	tab, end, err := browser.Open(testenv.Program(t, "chromium"))
	t.Cleanup(end)
	testenv.Check(t, err)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		testenv.Check(t, chromedp.Do(tab, steps...))
	}
	read := func() string {
		t.Helper()
		text, err := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
		testenv.Check(t, err)
		return text
	}
	do(chromedp.Navigate(strings.TrimSpace(link.Stdout)), browser.Shows(".state"))
	if got := read(); !strings.Contains(got, "root sign out") {
		t.Fatalf("signed in: %q", got)
	}
	page := "http://" + s.HTTP
	do(chromedp.Navigate(page+"/explain"), chromedp.Evaluate[chromedp.Void](fmt.Sprintf(dropped, mail)), browser.Shows(".actions"))
	if got := read(); !strings.Contains(got, "dropped.eml: clean") || !strings.Contains(got, "Nobody at this site has reported or revoked it lately.") {
		t.Errorf("before all: %q", got)
	}
	for i, c := range []struct {
		do, as, want string
		code         int // of check
	}{
		{"report", "", "Reported. The verdict is now spam.", 0},
		{"retouch", "", "Hidden on this site. The verdict is now clean.", 1},
		{"revoke", "", "Revoked. The verdict is now clean.", 1},
		{"settle", "spam", "Settled: later reports and revocations do not change it on this site. The verdict is now spam.", 0},
		{"never", "", "Declared never spam on this site. The verdict is now allowed.", 1},
	} {
		if i > 0 {
			do(chromedp.Navigate(page+"/explain"), chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{file}),
				browser.Click("form[data-drop] button"), browser.Shows(".actions"))
		}
		if c.as != "" {
			do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector('select[name=as]').value = %q", c.as)))
		}
		do(browser.Click("button[value="+c.do+"]"), browser.Shows("[role=status]"))
		if got := read(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.do, got, c.want)
		}
		if r := s.CLI("check", file); r.Code != c.code {
			t.Errorf("after %s, check: %+v, want %d", c.do, r, c.code)
		}
	}
	if r := s.CLI("reports"); strings.Count(r.Stdout, "root") < 2 || !strings.Contains(r.Stdout, "settled") {
		t.Errorf("reports: %+v", r)
	}
	if status, _ := s.Get("/enter?" + strings.SplitN(strings.TrimSpace(link.Stdout), "?", 2)[1]); status != 403 {
		t.Errorf("the link is answered %d a second time", status)
	}
	do(chromedp.Navigate(page+"/mail"), browser.Shows("table"))
	if got := read(); !strings.Contains(got, "1 different message") {
		t.Errorf("the mail that was judged: %q", got)
	}
}
