package page_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// The first screen has the figures of the day beside those of the day before, what other sites did for
// this one and this one for others, the newest reports, mistakes beside their target, and memory beside
// its bound. A site that is alone gives nothing to others, and the page does not say that it gave none.
func TestFirstScreen(t *testing.T) {
	site := pagetest.New(t)
	site.Count(pagetest.Now.Add(-30*time.Hour), map[string]uint64{figures.Clean: 450, figures.Spam: 40, figures.Bulk: 10})
	site.Count(pagetest.Now, map[string]uint64{
		figures.Clean: 1750, figures.Bulk: 50, figures.Spam: 200, figures.SpamOthers: 80, figures.FromSite + ":mx2": 60, figures.FromSite + ":mx3": 30,
		figures.Skipped: 9, "skipped_authenticated": 8, "skipped_little": 1, figures.Listed: 1,
	})
	if body := newVisit(t, site).get("/").Body.String(); !strings.Contains(body, ">this site</span>") || strings.Contains(body, "of them") {
		t.Errorf("a site that is alone:\n%s", body)
	}
	site.Links = []api.Link{{Site: "mx2"}, {Site: "mx3"}}
	for _, who := range []string{"anna", "bert"} {
		site.MustReport(who, desktest.Letter(1, 0))
	}
	site.Clock.Add(60)
	body := signedIn(t, site, "root", pagetest.Root).get("/").Body.String()
	for _, want := range []string{
		`judged, 24\x{a0}h</p><p class="n">2,000</p><p class="d">mails; the day before 500<`,
		`spam, 24\x{a0}h</p><p class="n">200</p><p class="d">10\.0 % of the mail judged; 80 only thanks to other sites; the day before 40<`,
		`bulk, 24\x{a0}h</p><p class="n">50</p><p class="d">seen often, not spam by itself; the day before 10<`,
		`not judged, 24\x{a0}h</p><p class="n">9</p><p class="d">\D+ 8, too little content 1; the day before 0<`,
		`this site; gave 1 listing, 24\x{a0}h<`, `<td>mx2</td><td>\d+ s ago</td><td class="n">60</td>`, `Mail that several of them reported counts for each`,
		`>all 1 campaigns<|>1 campaign<`, `anna</a>, <a href="/reports\?by=bert">bert</a></td>.*<span class="tag">spam</span>`,
		`By estimate, (about|less than) one mail in .* that nobody reported is called spam by mistake\. The target is about one mail in 1 million\.`,
		`Memory 212 MiB of at most 395 MiB\. Up since`,
	} {
		if !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("without %s:\n%s", want, body)
		}
	}
}

// Each reporter has the reason for the weight beside it.
func TestReasonsForWeights(t *testing.T) {
	site := pagetest.New(t)
	for i := range 6 {
		for _, who := range []string{"anna", "bert"} {
			site.MustReport(who, desktest.Letter(i, 0))
		}
	}
	site.MustReport("new", desktest.Letter(50, 0))
	for i := range 3 {
		site.MustReport("wrong", desktest.Letter(60+i, 0))
		for _, who := range []string{"anna", "bert"} {
			site.MustRevoke(who, desktest.Letter(60+i, 0))
		}
	}
	site.MustReport("dora", desktest.Letter(51, 0))
	half := 0.5
	if _, err := site.SetWeight(api.WeightRequest{Name: "dora", Weight: &half}, desk.Author{Name: "root", Origin: pagetest.Root}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Report(desk.Report{Set: desktest.Letter(70, 0), Reporter: "trap:lure", Trap: true, Trusted: true}); err != nil {
		t.Fatal(err)
	}
	body := signedIn(t, site, "root", pagetest.Root).get("/reporters").Body.String()
	for who, why := range map[string]string{
		"anna": "others confirmed the reports", "new": "new: nobody has confirmed or refuted a report yet",
		"wrong": "others took most of these reports back", "dora": "set by an administrator", "trap:<wbr>lure": "a spam trap lists alone",
	} {
		if want := regexp.MustCompile(fmt.Sprintf(`>%s</a></td><td class="n">[\d.]+</td><td>%s</td>`, who, why)); !want.MatchString(body) {
			t.Errorf("%s lacks %q:\n%s", who, why, body)
		}
	}
}
