package page_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// barriers is a check of a page in the browser: what would keep somebody from using it with
// a keyboard, a screen reader, weak eyes or a small screen. It returns what is wrong.
const barriers = `(() => {
  const wrong = [];
  const name = (e) => e.tagName + (e.id ? "#" + e.id : "") + " " + (e.textContent || "").trim().slice(0, 30);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  for (const e of document.querySelectorAll("input:not([type=hidden]),select,textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) wrong.push("no label: " + e.name);
  for (const e of document.querySelectorAll("a,button")) if (!e.textContent.trim()) wrong.push("no words: " + e.outerHTML);
  for (const e of document.querySelectorAll("th")) if (!e.scope) wrong.push("no scope: " + name(e));
  for (const e of document.querySelectorAll("svg")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-hidden")) wrong.push("svg without a name");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen: " + document.documentElement.scrollWidth);
  const light = (c) => {
    const part = c.match(/[\d.]+/g).map(Number);
    const v = part.slice(0, 3).map((x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return [0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2], part.length > 3 ? part[3] : 1];
  };
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length || e.closest(".skip")) continue;
    const style = getComputedStyle(e);
    let back = e;
    while (back.parentElement && light(getComputedStyle(back).backgroundColor)[1] === 0) back = back.parentElement;
    const a = light(e.namespaceURI.includes("svg") ? style.fill : style.color)[0], b = light(getComputedStyle(back).backgroundColor)[0];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push("contrast " + contrast.toFixed(1) + ": " + name(e));
  }
  return [...new Set(wrong)];
})()`

// No page has a barrier (WCAG 2.1: contrast, names, headings, reflow), at 360 and 1,280
// pixels, light and dark, on an empty and on a busy site.
func TestAccessibility(t *testing.T) {
	for kind, fill := range map[string]func(*pagetest.Site) *pagetest.Site{"empty": (*pagetest.Site).Empty, "busy": (*pagetest.Site).Busy} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			site, tab := fill(pagetest.New(t)), browser(t)
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
			for name, path := range pages {
				do(t, tab, chromedp.Navigate(s.URL+path))
				for _, width := range []int64{360, 1280} {
					for _, dark := range []bool{false, true} {
						screen(t, tab, width, dark)
						if wrong := ask(t, tab, chromedp.Evaluate[[]string](barriers)); len(wrong) > 0 {
							t.Errorf("%s, %d px, dark %v: %q", name, width, dark, wrong)
						}
					}
				}
			}
		})
	}
}

// A user signs in by the link, drops a message, and reports, revokes and declares it, with
// the script and without.
func TestActionsInABrowser(t *testing.T) {
	for _, hasScript := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", hasScript), func(t *testing.T) {
			t.Parallel()
			site := pagetest.New(t)
			s := httptest.NewServer(site.Handler)
			defer s.Close()
			tab := browser(t)
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
					chromedp.Click(chromedp.CSS("form[data-drop] button")), chromedp.WaitReady(chromedp.CSS(".actions")),
					chromedp.Click(chromedp.CSS("button[value="+c.do+"]")), chromedp.WaitReady(chromedp.CSS("[role=status]")))
				if got := ask(t, tab, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(got, c.want) {
					t.Errorf("%s: %q, want %q", c.do, got, c.want)
				}
			}
			do(t, tab, chromedp.Navigate(s.URL+"/reports"))
			if got := ask(t, tab, chromedp.Text(chromedp.CSS("table"))); strings.Count(got, "root") != 2 {
				t.Errorf("the ledger shows %q", got)
			}
		})
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
			tab := browser(t)
			withScript(t, tab, hasScript)
			signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
			if got := ask(t, tab, chromedp.Text(chromedp.CSS(".note"))); !strings.HasPrefix(got, "Your users disagree about") {
				t.Fatalf("the first screen needs %q", got)
			}
			do(t, tab, chromedp.Click(chromedp.CSS(".note a")), chromedp.WaitReady(chromedp.CSS(".settle")),
				chromedp.Click(chromedp.CSS(".settle button[value=spam]")), chromedp.WaitReady(chromedp.CSS("[role=status]")))
			if got := ask(t, tab, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(got, "Settled on this site. The verdict is now spam.") {
				t.Errorf("settling says %q", got)
			}
			do(t, tab, chromedp.Navigate(s.URL), chromedp.WaitReady(chromedp.CSS(".state.ok")))
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

// The figures are refreshed without a reload, and are marked as old once the daemon is gone.
func TestRefresh(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t).Small()
	s := httptest.NewServer(site.Handler)
	tab := browser(t)
	hurried(t, tab)
	do(t, tab, chromedp.Navigate(s.URL), chromedp.WaitReady(chromedp.CSS(".state.ok")))
	site.Clock.Add(60)
	site.SetFault("suspended")
	do(t, tab, chromedp.WaitReady(chromedp.CSS(".state.fault")))
	if got := ask(t, tab, chromedp.Text(chromedp.CSS(".state"))); !strings.HasPrefix(got, "Mail passes unchecked.") {
		t.Errorf("after the fault: %q", got)
	}
	s.Close()
	do(t, tab, chromedp.WaitReady(chromedp.CSS(".state[data-lost]")))
	if got := ask(t, tab, chromedp.Text(chromedp.CSS(".state"))); got != "The daemon does not answer. These figures are old." {
		t.Errorf("without a daemon: %q", got)
	}
}
