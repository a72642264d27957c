package page_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/cmd/testenv/browser"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// A user signs in by the link, drops a message, and reports, revokes and declares it, with
// the script and without.
func TestActionsInABrowser(t *testing.T) {
	for _, hasScript := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", hasScript), func(t *testing.T) {
			t.Parallel()
			site := pagetest.New(t)
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			tab := newTab(t)
			withScript(t, tab, hasScript)
			signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
			file := filepath.Join(t.TempDir(), "spam.eml")
			if err := os.WriteFile(file, []byte("Subject: x\n\n"+desktest.LetterText(1, 0)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			site.MustReport("anna", desktest.Letter(1, 0))
			for _, c := range []struct{ do, want string }{
				{"report", "The verdict is now spam."}, {"retouch", "The verdict is now clean."}, {"revoke", "Revoked."}, {"never", "Declared never spam"},
			} {
				do(t, tab, chromedp.Navigate(s.URL+"/explain"), chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{file}),
					browser.Click("form[data-drop] button"), browser.Shows(".actions"))
				if hasScript {
					if wrong := append(ask(t, tab, chromedp.Evaluate[[]string](barriers, chromedp.EvalAwaitPromise)), offered(t, tab)...); len(wrong) > 0 {
						t.Errorf("before %s: %q", c.do, wrong)
					}
				}
				do(t, tab,
					browser.Click("button[value="+c.do+"]"), browser.Shows("[role=status]"))
				if got := inPage(t, tab, "main"); !strings.Contains(got, c.want) {
					t.Errorf("%s: %q, want %q", c.do, got, c.want)
				}
			}
			do(t, tab, chromedp.Navigate(s.URL+"/reports"))
			if got := inPage(t, tab, "table"); strings.Count(got, "root") != 4 { // by and from, twice
				t.Errorf("the ledger shows %q", got)
			}
		})
	}
}

// drop lets a message fall on a page, like a file from another window.
const drop = `(() => {
  const data = new DataTransfer();
  data.items.add(new File(["Subject: x\n\n%s\n"], "dropped.eml", { type: "message/rfc822" }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
})()`

// A message that is dropped anywhere on the page is explained. On paper, there is nothing to click.
func TestDropAndPrint(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t)
	site.MustReport("anna", desktest.Letter(1, 0))
	s := httptest.NewServer(site.Handler)
	defer s.Close()
	tab := newTab(t)
	signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
	do(t, tab, chromedp.Navigate(s.URL+"/explain"), chromedp.Evaluate[chromedp.Void](fmt.Sprintf(drop, desktest.LetterText(1, 0))),
		browser.Shows(".actions"))
	if got := inPage(t, tab, "main"); !strings.Contains(got, "dropped.eml: ") || !strings.Contains(got, "anna") {
		t.Errorf("the dropped message is explained by %q", got)
	}
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	const seen = `[...document.querySelectorAll("nav, button, table")].filter((e) => e.getClientRects().length).map((e) => e.tagName).join()`
	if got := ask(t, tab, chromedp.Evaluate[string](seen)); got != "TABLE,TABLE" {
		t.Errorf("on paper one sees %q, want the tables alone", got)
	}
}

// withScript switches the script of a tab's pages on or off.
func withScript(t *testing.T, tab context.Context, on bool) {
	t.Helper()
	if _, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		t.Fatal(err)
	}
}

// An administrator follows the first screen to what users disagree about, and settles it there,
// with the script and without. Then nothing needs anybody.
func TestSettlingInABrowser(t *testing.T) {
	for _, hasScript := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", hasScript), func(t *testing.T) {
			t.Parallel()
			site := pagetest.New(t).Small()
			for _, who := range []string{"anna", "bert"} {
				site.MustReport(who, desktest.Letter(3, 0))
			}
			site.MustRevoke("carla", desktest.Letter(3, 0))
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			tab := newTab(t)
			withScript(t, tab, hasScript)
			signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
			if got := inPage(t, tab, "main"); strings.Contains(got, "As of ") == hasScript {
				t.Errorf("figures that are not refreshed have a time, and others do not: %q", got)
			}
			if got := inPage(t, tab, ".note"); !strings.HasPrefix(got, "Your users disagree about") {
				t.Fatalf("the first screen needs %q", got)
			}
			do(t, tab, browser.Click(".note a"), browser.Shows(".settle"),
				browser.Click(".settle button[value=spam]"), browser.Shows("[role=status]"))
			if got := inPage(t, tab, "main"); !strings.Contains(got, "Settled: later reports and revocations do not change it on this site. The verdict is now spam.") {
				t.Errorf("settling says %q", got)
			}
			do(t, tab, chromedp.Navigate(s.URL), browser.Shows(".state.ok"))
		})
	}
}

// hurried makes the timers of a tab's pages fifty times as fast.
func hurried(t *testing.T, tab context.Context) {
	t.Helper()
	if _, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: "{ const slow = setInterval; window.setInterval = (f, ms) => slow(f, ms / 50); }",
	}); err != nil {
		t.Fatal(err)
	}
}

// inPage reads an element's text in one step: a refresh, or a page that has just been loaded,
// replaces the element that a search found.
func inPage(t *testing.T, tab context.Context, selector string) string {
	t.Helper()
	return ask(t, tab, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).innerText", selector)))
}

// The figures are refreshed without a reload, and are marked as old once the daemon is gone.
func TestRefresh(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t).Small()
	s := httptest.NewServer(site.Handler)
	tab := newTab(t)
	hurried(t, tab)
	do(t, tab, chromedp.Navigate(s.URL), browser.Shows(".state.ok"))
	site.Clock.Add(60)
	site.SetFault("suspended")
	do(t, tab, browser.Shows(".state.fault"))
	if got := inPage(t, tab, ".state"); !strings.HasPrefix(got, "Mail passes unchecked.") {
		t.Errorf("after the fault: %q", got)
	}
	s.Close()
	do(t, tab, browser.Shows(".state[data-lost]"))
	if got := inPage(t, tab, ".state"); got != "The daemon does not answer. These figures are old." {
		t.Errorf("without a daemon: %q", got)
	}
}

// The options of a look at a page for something that comes: hidden tabs draw no frames.
var patient, often = chromedp.WithPollingTimeout(testenv.Patience), chromedp.WithPollingInterval(20 * time.Millisecond)

// watched counts what a screen reader is told and how often the figures were replaced.
const watched = `{
  window.told = []; window.replaced = 0;
  const said = document.querySelector("[data-said]");
  new MutationObserver(() => told.push(said.textContent)).observe(said, {childList: true, characterData: true, subtree: true});
  new MutationObserver(() => replaced++).observe(document.querySelector("main"), {childList: true});
}`

// A screen reader is told of a fault once, when it comes, and once when it is over, however often
// the figures change and are refreshed. It is told of a daemon that does not answer, too.
func TestNews(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t).Small()
	s := httptest.NewServer(site.Handler)
	defer s.Close()
	tab := newTab(t)
	hurried(t, tab)
	do(t, tab, chromedp.Navigate(s.URL), browser.Shows(".state.ok"), chromedp.Evaluate[chromedp.Void](watched))
	told := func(want ...string) {
		t.Helper()
		from := ask(t, tab, chromedp.Evaluate[int]("replaced"))
		ask(t, tab, chromedp.Poll[bool](fmt.Sprintf("told.length >= %d && replaced >= %d", len(want), from+3), patient, often))
		got := ask(t, tab, chromedp.Evaluate[[]string]("told"))
		if len(got) != len(want) {
			t.Fatalf("told %q, want %q", got, want)
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("told %q, want %q", got[i], want[i])
			}
		}
	}
	told()
	site.Count(pagetest.Now, map[string]uint64{"clean": 12345})
	site.Clock.Add(60)
	ask(t, tab, chromedp.Poll[bool](`document.querySelector(".tile .n").innerText.startsWith("12,3")`, patient, often))
	told()
	const fault, well = "Mail is not judged: suspended", "Nothing needs you."
	site.SetFault("suspended")
	site.Clock.Add(60)
	told(fault)
	site.Clock.Add(60)
	told(fault)
	site.SetFault("")
	site.Clock.Add(60)
	told(fault, well)
	s.CloseClientConnections()
	s.Close()
	ask(t, tab, chromedp.Poll[bool]("told.length >= 3", patient, often))
	if got := ask(t, tab, chromedp.Evaluate[[]string]("told")); got[2] != "The daemon does not answer. These figures are old." {
		t.Errorf("told %q", got)
	}
}
