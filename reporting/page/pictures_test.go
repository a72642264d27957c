package page_test

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/cmd/testenv/browser"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// chromium is Debian's, which the first test that needs it starts and TestMain ends.
var chromium struct {
	start sync.Once
	ctx   context.Context
	end   func()
	err   error
}

func TestMain(m *testing.M) {
	testenv.InMemory()
	code := m.Run()
	if chromium.end != nil {
		chromium.end()
	}
	os.Exit(code)
}

// newTab returns the context of a tab that shares no cookies with those of other tests, so
// that tests can run in parallel.
func newTab(t *testing.T) context.Context {
	path := testenv.Program(t, "chromium")
	chromium.start.Do(func() {
		chromium.ctx, chromium.end, chromium.err = browser.Open(path)
	})
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	tab, end := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	return tab
}

// screen sets width and colours of a tab.
func screen(t *testing.T, tab context.Context, width int64, dark bool) {
	t.Helper()
	do(t, tab, chromedp.EmulateViewport(width, 900))
	colours(t, tab, dark)
}

// colours sets the colours of a tab. It leaves the width, so the page is not laid out again.
func colours(t *testing.T, tab context.Context, dark bool) {
	t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		t.Fatal(err)
	}
}

// paper makes a tab show its page as it is printed, on A4, in a browser with dark colours.
func paper(t *testing.T, tab context.Context) {
	t.Helper()
	do(t, tab, chromedp.EmulateViewport(794, 1123))
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	}); err != nil {
		t.Fatal(err)
	}
}

// do carries out steps in a tab.
func do(t *testing.T, tab context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab, steps...); err != nil {
		t.Fatal(err)
	}
}

// ask returns the answer to an action.
func ask[T any](t *testing.T, tab context.Context, action chromedp.Action[T]) T {
	t.Helper()
	answer, err := chromedp.Run(tab, action)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// signIn opens a link and waits for the page that it leads to.
func signIn(t *testing.T, tab context.Context, link string) {
	t.Helper()
	do(t, tab, chromedp.Navigate(link), browser.Shows(".state"))
}

// pages of a site; each is looked at empty, small and busy.
var pages = map[string]string{
	"today": "/", "month": "/?range=month", "mail": "/mail", "campaigns": "/campaigns", "reports": "/reports", "reporters": "/reporters",
	"sites": "/sites", "filters": "/filters", "explain": "/explain",
}

// listed returns the source of the last letter that is spam by several parts, without the names
// of foreign domains.
func listed(t *testing.T, site *pagetest.Site, letters []pagetest.Letter) []byte {
	t.Helper()
	for _, l := range slices.Backward(letters) {
		if len(l.Set.Sketches) > 0 && len(l.Set.Domains) == 0 && len(site.DB.Judge(l.Set).Matches) > 2 {
			return l.Raw
		}
	}
	t.Fatal("no letter is listed")
	return nil
}

// month returns the busy site of the pictures: thirty days of mail of the archives in
// shared/corpora; and the letters of the last one, phishing.
func month(t *testing.T) (*pagetest.Site, []pagetest.Letter) {
	t.Helper()
	xz := testenv.Program(t, "xz")
	var archives [][]pagetest.Letter
	for _, name := range []string{"lists", "trec07p", "spamassassin"} {
		archives = append(archives, pagetest.ReadArchive(t, xz, archive(t, name), bloomdb.ClassOther))
	}
	phishing := pagetest.ReadArchive(t, xz, archive(t, "phishing"), bloomdb.ClassPhish)
	return pagetest.NewReplay(t, 30*24*time.Hour, append(archives, phishing)...), phishing
}

func archive(t *testing.T, name string) string {
	t.Helper()
	if name != "spamassassin" {
		name += "-part"
	}
	return testenv.Corpus(t, "../..", name+".tar.xz")
}

// TestGuidePictures writes the pictures of README and guide, of a busy site: to
// contrib/pictures with SPAMBLOOM_PICTURES=guide. Each is smaller than 175 kB.
func TestGuidePictures(t *testing.T) {
	if os.Getenv("SPAMBLOOM_PICTURES") != "guide" {
		t.Skip("SPAMBLOOM_PICTURES is not guide")
	}
	const folder, most = "../../contrib/pictures", 175_000
	tab := newTab(t)
	site, phishing := month(t)
	s := httptest.NewServer(site.Handler)
	defer s.Close()
	signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
	screen(t, tab, 1000, false)
	source := filepath.Join(t.TempDir(), "mail.eml")
	if err := os.WriteFile(source, listed(t, site, phishing), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, steps := range map[string]chromedp.Action[chromedp.Void]{
		"today":     chromedp.Navigate(s.URL + "/"),
		"campaigns": chromedp.Navigate(s.URL + "/campaigns?only=listed&sort=size"),
		"explain": chromedp.Steps(chromedp.Navigate(s.URL+"/explain"), chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{source}),
			browser.Click("form[data-drop] button"), browser.Shows(".actions")),
	} {
		do(t, tab, steps)
		png := ask(t, tab, chromedp.CaptureScreenshot())
		if len(png) > most {
			t.Errorf("%s: %d bytes, at most %d", name, len(png), most)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPictures writes a picture of each page to the folder SPAMBLOOM_PICTURES, at 360 and
// 1,280 pixels, light and dark, of an empty, a small, a busy and a broken site.
func TestPictures(t *testing.T) {
	folder := os.Getenv("SPAMBLOOM_PICTURES")
	if folder == "" || folder == "guide" {
		t.Skip("SPAMBLOOM_PICTURES is not a folder")
	}
	only := os.Getenv("SPAMBLOOM_ONLY")
	tab := newTab(t)
	busy, phishing := month(t)
	source := filepath.Join(t.TempDir(), "mail.eml")
	if err := os.WriteFile(source, listed(t, busy, phishing), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, site := range map[string]*pagetest.Site{
		"empty": pagetest.New(t), "small": pagetest.New(t).Small(), "busy": busy, "broken": pagetest.New(t).Busy().Break(),
	} {
		s := httptest.NewServer(site.Handler)
		defer s.Close()
		signIn(t, tab, s.URL+site.Link("root", pagetest.Root))
		for name, path := range picturesOf(t, site) {
			for _, width := range []int64{360, 1280} {
				for _, dark := range []bool{false, true} {
					file := fmt.Sprintf("%s-%s-%d%s.png", name, kind, width, map[bool]string{true: "-dark"}[dark])
					if only != "" && !strings.Contains(file, only) {
						continue
					}
					screen(t, tab, width, dark)
					do(t, tab, chromedp.Navigate(s.URL+path))
					if name == "dropped" {
						do(t, tab, chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), []string{source}),
							browser.Click("form[data-drop] button"), browser.Shows(".actions"))
					}
					png := ask(t, tab, chromedp.FullScreenshot(100))
					if err := os.WriteFile(filepath.Join(folder, file), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// picturesOf returns the pages of a site that are looked at: also a campaign alone, what is
// contested, and what is known of an id and of a message.
func picturesOf(t *testing.T, site *pagetest.Site) map[string]string {
	t.Helper()
	all := maps.Clone(pages)
	site.Tokens, all["sign-in"] = map[string]string{secret: "helpdesk"}, "/sign-in"
	all["problem"], all["contested"], all["dropped"] = "/explain?ask=no+id!", "/campaigns?only=contested", "/explain"
	list, err := site.Campaigns()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list[:min(1, len(list))] {
		all["campaign"], all["known"] = "/campaigns?q="+c.ID, "/explain?ask="+c.ID
	}
	return all
}
