package page_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

var (
	sparkText = regexp.MustCompile(`<svg class="spark"[^>]* aria-label="([^"]*)">`)
	tableRow  = regexp.MustCompile(`<tr><td>([^<]*)</td><td class="n">(\d+)</td><td class="n">(\d+)</td></tr>`)
)

// Each campaign shows its mail over time, with its near-duplicates, as a picture that has its
// figures in words. The rows can be ordered by size and by the latest mail; the URL has all of it.
func TestCampaignsOverTime(t *testing.T) {
	site := pagetest.New(t)
	for i, mails := range []int{5, 9, 0} { // 3 was reported last
		campaign := i + 1
		site.Clock.Store(pagetest.Now.Add(time.Duration(campaign-4) * time.Minute).Unix())
		site.MustReport("anna", desktest.Letter(campaign, 0))
		for i := range mails {
			if err := site.DB.Count(desktest.Letter(campaign, 0), 1); err != nil {
				t.Fatal(err)
			}
			at, verdict := pagetest.Now.Add(-time.Duration(campaign+i/4*7)*time.Hour), "clean"
			if i >= 4 {
				at, verdict = pagetest.Now.Add(-time.Duration(campaign)*time.Minute), "spam"
			}
			site.Judge(at, "Q", verdict, desktest.Letter(campaign, (2-campaign)*3*i)) // of 1 near-duplicates, of 2 copies
		}
	}
	site.Clock.Store(pagetest.Now.Unix())
	v := newVisit(t, site)
	sparks := func(path string) (list []string) {
		for _, m := range sparkText.FindAllStringSubmatch(v.get(path).Body.String(), -1) {
			list = append(list, m[1])
		}
		return list
	}
	const one, two, three = "5 in the last day, 1 recognised; most from 20 Nov 11:00: 4", "9 in the last day, 5 recognised; most from 20 Nov 12:00: 5", "none in the last day"
	for path, want := range map[string][]string{
		"/campaigns?range=day":                 {three, two, one},
		"/campaigns?range=day&sort=size":       {two, one, three},
		"/campaigns?range=day&sort=seen":       {one, two, three},
		"/campaigns?range=day&only=listed":     nil,
		"/campaigns?range=nothing&sort=a&page": {"none in the last week", "9 in the last week, 5 recognised; most from Fri 20 Nov 12:00: 5", "5 in the last week, 1 recognised; most from Fri 20 Nov 06:00: 4"},
	} {
		if got := sparks(path); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	body := v.get("/campaigns?range=day&q=" + desktest.Letter(1, 0).Signatures[0].ID()).Body.String()
	var figures []string
	for _, m := range tableRow.FindAllStringSubmatch(body, -1) {
		if m[2]+m[3] != "00" {
			figures = append(figures, strings.Join(m[1:], " "))
		}
	}
	if want := []string{"20 Nov 11:00 4 0", "20 Nov 12:00 0 1"}; !slices.Equal(figures, want) {
		t.Errorf("the table of one campaign has %q, want %q", figures, want)
	}
	if strings.Contains(body, "is not complete") {
		t.Error("a day is not complete, twelve days after the start")
	}
	if body := v.get("/campaigns?range=month").Body.String(); !strings.Contains(body, "Mail before 8\u00a0Nov 12:37 is not complete") {
		t.Errorf("a month is complete, twelve days after the start:\n%s", body)
	}
}
