package page_test

import (
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// A report that would hit much unreported mail is shown as held, with how much, among the
// campaigns that need an administrator.
func TestHeldCampaign(t *testing.T) {
	site := pagetest.New(t)
	for campaign, copies := range []uint32{137, 3} {
		if err := site.DB.Count(desktest.Letter(campaign, 0), copies); err != nil {
			t.Fatal(err)
		}
		site.MustReport("anna", desktest.Letter(campaign, 0))
	}
	body := newVisit(t, site).get("/campaigns?only=contested").Body.String()
	for _, want := range []string{"1 campaign<", ">held<", "137 like it"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if overview := newVisit(t, site).get("/").Body.String(); !strings.Contains(overview, "it would hit 137 mails") {
		t.Errorf("the first screen does not name what is held:\n%s", overview)
	}
}

// An administrator settles what is held or contested from its row, without the message; others
// are not offered that, and are refused.
func TestSettleFromTheList(t *testing.T) {
	for as, want := range map[string]struct {
		says   string
		listed bool
	}{"spam": {"The verdict is now spam.", true}, "wanted": {"do not change it on this site. The verdict is now clean.", false}, "never": {"do not change it on this site. The verdict is now allowed.", false}} {
		t.Run(as, func(t *testing.T) {
			site := pagetest.New(t)
			letter := desktest.Letter(3, 0)
			if err := site.DB.Count(letter, 137); err != nil {
				t.Fatal(err)
			}
			site.MustReport("anna", letter) // is held
			root, anna := signedIn(t, site, "root", pagetest.Root), signedIn(t, site, "uid:4000000", user)
			const list = "/campaigns?only=contested"
			number := regexp.MustCompile(`name="report" value="(\d+)"`).FindStringSubmatch(root.get(list).Body.String())
			if number == nil || strings.Contains(anna.get(list).Body.String(), "settle-report") || strings.Contains(newVisit(t, site).get(list).Body.String(), "settle-report") {
				t.Fatal("an administrator has no form, or others have one")
			}
			form := func(v *visit, report, as string) *httptest.ResponseRecorder {
				return v.act(url.Values{"form": {v.form()}, "do": {"settle-report"}, "report": {report}, "as": {as}}, nil)
			}
			for name, c := range map[string]struct {
				w    *httptest.ResponseRecorder
				code int
			}{
				"by a user": {form(anna, number[1], as), 403}, "no number": {form(root, "", as), 400}, "unknown": {form(root, "999", as), 422}, "odd": {form(root, number[1], "boring"), 400},
			} {
				if c.w.Code != c.code {
					t.Errorf("%s: %d, want %d", name, c.w.Code, c.code)
				}
			}
			if w := form(root, number[1], as); w.Code != 200 || !strings.Contains(w.Body.String(), want.says) {
				t.Errorf("%d\n%s", w.Code, w.Body)
			}
			for _, path := range []string{"/reports", "/reporters"} {
				if body := root.get(path).Body.String(); !strings.Contains(body, ">settled by an administrator<") || strings.Contains(body, ">settled:<") {
					t.Errorf("%s does not name the administrator:\n%s", path, body)
				}
			}
			if body := root.get(list).Body.String(); !strings.Contains(body, "0 campaigns") || site.DB.Judge(letter).Listed != want.listed {
				t.Errorf("afterwards, listed %v:\n%s", site.DB.Judge(letter).Listed, body)
			}
		})
	}
}

// Mail that only a known sender kept from being spam is found, with the domain for an
// administrator and without it for others.
func TestSpared(t *testing.T) {
	site := pagetest.New(t)
	letter := desktest.Letter(1, 0)
	site.Judge(pagetest.Now, "4fXk2T0001z", "clean", desktest.Letter(2, 0))
	site.Spare(pagetest.Now, "4fXk2T0002z", "bank.example\u202e", letter)
	for _, c := range []struct {
		by   *visit
		want bool
	}{{signedIn(t, site, "root", pagetest.Root), true}, {signedIn(t, site, "uid:4000000", user), false}, {newVisit(t, site), false}} {
		body := c.by.get("/mail?only=spared").Body.String()
		if !strings.Contains(body, ">1 different message<") || !strings.Contains(body, ">spared<") || !strings.Contains(body, "an exact match alone") || strings.Contains(body, "bank.example") != c.want || strings.Contains(body, "\u202e") {
			t.Errorf("the domain is to be shown %v:\n%s", c.want, body)
		}
	}
	root := signedIn(t, site, "root", pagetest.Root)
	if body := root.get("/explain?ask=" + url.QueryEscape(letter.Counting[0].ID())).Body.String(); !strings.Contains(body, "bank.example") {
		t.Errorf("the copies of a message do not name the domain:\n%s", body)
	}
	site.Alias = func(string) string { return "h:0123456789ab" } // with log.privacy
	for _, path := range []string{"/mail?only=spared", "/explain?ask=" + url.QueryEscape(letter.Counting[0].ID())} {
		if body := root.get(path).Body.String(); strings.Contains(body, "bank.example") || !strings.Contains(body, "h:0123456789ab") {
			t.Errorf("%s with pseudonyms:\n%s", path, body)
		}
	}
}

// The site of the pictures shows what its three databases did: spam is recognised, and some of
// it only because another site reported it.
func TestReplay(t *testing.T) {
	var letters []pagetest.Letter
	for i := range 60 {
		letters = append(letters, pagetest.Letter{Set: desktest.Letter(i, 0), IsSpam: i%2 == 0})
	}
	site := pagetest.NewReplay(t, 24*time.Hour, letters)
	body := newVisit(t, site).get("/").Body.String()
	thanks := regexp.MustCompile(`mail judged; (\d+) only thanks to other sites`).FindStringSubmatch(body)
	if reports, err := site.Ledger.Status(); err != nil || reports.Reports == 0 || thanks == nil || thanks[1] == "0" || !strings.Contains(body, "2 of 2 sites heard") {
		t.Errorf("%d reports (%v), thanks to others %q in\n%s", reports.Reports, err, thanks, body)
	}
}
