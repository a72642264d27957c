package page_test

import (
	"math"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// While something is wrong, every page says so, whoever looks at it: what it is in short, who is
// needed, and the way to the first screen. While nothing is, no page does.
func TestAlarmOnEveryPage(t *testing.T) {
	broken, well := pagetest.New(t).Busy().Break(), pagetest.New(t).Small()
	const sign = `class="note alarm bad"><b>Mail passes unchecked. No connection to Redis; another site was last heard 26 h ago. `
	for who, c := range map[string]struct {
		sign func(*pagetest.Site) *visit
		want string
	}{
		"root":      {func(s *pagetest.Site) *visit { return signedIn(t, s, "root", pagetest.Root) }, " things need you.</b> <a href=\"/\">See today</a>"},
		"a user":    {func(s *pagetest.Site) *visit { return signedIn(t, s, "uid:4000000", user) }, " things need an administrator.</b> <a href=\"/\">See today</a>"},
		"a visitor": {func(s *pagetest.Site) *visit { return newVisit(t, s) }, " things need an administrator.</b> <a href=\"/\">See today</a>"},
	} {
		ill, fine := c.sign(broken), c.sign(well)
		for _, path := range []string{"/explain", "/mail", "/campaigns", "/reports", "/reporters", "/sites", "/filters", "/nothing"} {
			if body := ill.get(path).Body.String(); !strings.Contains(body, sign) || !strings.Contains(body, c.want) {
				t.Errorf("%s of a broken site says nothing to %s:\n%s", path, who, body)
			}
			if body := fine.get(path).Body.String(); strings.Contains(body, "alarm") {
				t.Errorf("%s of a site that is well alarms %s:\n%s", path, who, body)
			}
		}
		sites := ill.get("/sites").Body.String()
		if !strings.Contains(sites, "No connection to Redis: dial tcp 192.0.2.7:6379: connect: connection refused. Mail is judged by what is known here") {
			t.Errorf("the page of sites does not say to %s why none is heard:\n%s", who, sites)
		}
		if strings.Contains(sites, "<code>spambloom sites</code>") != (who == "root") {
			t.Errorf("a command for administrators is shown to %s, or not to root", who)
		}
	}
}

// The page does not claim to know what a silent site has published: neither on its row, nor in the
// explanation of a message that nobody here reported.
func TestSilentSites(t *testing.T) {
	site := pagetest.New(t).Busy()
	site.Links[1].Lag = 0 // a site that is behind, and of which nothing is held, is loading
	source := [2]string{"source", "Subject: x\n\n" + desktest.LetterText(77, 0) + "\n"}
	root := signedIn(t, site, "root", pagetest.Root)
	before := root.upload([2]string{"form", root.form()}, source).Body.String()
	if !strings.Contains(before, "Some reports of mx3 are missing here: its records have 1 gap.") || strings.Contains(before, "reports of mx2") {
		t.Errorf("while sites are heard, one of them with a gap:\n%s", before)
	}
	site.Links[1].Gaps = 0
	if whole := root.upload([2]string{"form", root.form()}, source).Body.String(); !strings.Contains(whole, ">not listed by any site<") || strings.Contains(whole, "missing here") {
		t.Errorf("while all sites are heard:\n%s", whole)
	}
	if body := root.get("/sites").Body.String(); !strings.Contains(body, "0 records") || strings.Contains(body, "unknown") {
		t.Errorf("the lag of sites that are heard is unknown:\n%s", body)
	}
	site.Break()
	after := root.upload([2]string{"form", root.form()}, source).Body.String()
	for _, want := range []string{"not listed, as far as the sites were heard", `The reports of mx2 since <span class="date">2026-11-19 10:36 UTC</span> are missing here`, "The reports of uni-north since"} {
		if !strings.Contains(after, want) {
			t.Errorf("without %q, while sites are silent:\n%s", want, after)
		}
	}
	if body := root.get("/sites").Body.String(); strings.Contains(body, " records<") || strings.Count(body, ">unknown<") != 6 || !strings.Contains(body, "26 h ago") {
		t.Errorf("the lag of silent sites is known, or not when they were heard:\n%s", body)
	}
}

// A message that is not spam although it was reported, and one that is although it was revoked, has
// the weight that is missing beside it. What cannot be done is not offered.
func TestMissingWeight(t *testing.T) {
	site := pagetest.New(t)
	v := signedIn(t, site, "root", pagetest.Root)
	explain := func() string {
		return v.upload([2]string{"form", v.form()}, [2]string{"source", "Subject: x\n\n" + desktest.LetterText(1, 0) + "\n"}).Body.String()
	}
	check := func(what string, has, hasNot []string) {
		t.Helper()
		body := explain()
		for _, text := range has {
			if !strings.Contains(body, text) {
				t.Errorf("%s, without %q:\n%s", what, text, body)
			}
		}
		for _, text := range hasNot {
			if strings.Contains(body, text) {
				t.Errorf("%s, with %q", what, text)
			}
		}
	}
	const one, two, revoke, settle = "1 reporter here with a weight of 1 reported it; a weight of 2 is needed to list it.", "It was revoked here with a weight of 1; a weight of 2 is needed to end the listing.", `value="revoke"`, `value="settle"`
	check("nobody reported it", []string{"Nobody at this site has reported or revoked it lately."}, []string{one, two, revoke, settle})
	site.MustReport("anna", desktest.Letter(1, 0))
	check("reported once", []string{one, revoke}, []string{two, settle})
	site.MustReport("bert", desktest.Letter(1, 0))
	check("reported twice", []string{"<b>reported, and not revoked</b>", revoke}, []string{one, two, settle})
	site.MustRevoke("carla", desktest.Letter(1, 0))
	check("revoked by one", []string{two, "<b>reported; the revocations do not end the listing</b>", revoke, settle}, []string{one, "not revoked"})
	known := v.get("/explain?ask=" + desktest.Letter(2, 0).Counting[0].ID()).Body.String()
	if strings.Contains(known, "What to do") {
		t.Errorf("of an unknown message something is offered:\n%s", known)
	}
	short := v.upload([2]string{"form", v.form()}, [2]string{"source", "Subject: ok\n\nok\n"}).Body.String()
	if strings.Contains(short, "What to do") {
		t.Errorf("a message without signatures can be reported:\n%s", short)
	}
}

// A trap has the same weight on both pages. What an administrator settles has none: it decides.
func TestWeightsAgree(t *testing.T) {
	site := pagetest.New(t)
	letter := desktest.Letter(1, 0)
	if _, err := site.Report(desk.Report{Set: letter, Reporter: "trap:lure", Trap: true, Trusted: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Settle(desk.Report{Set: letter}, desk.SettleSpam, desk.Author{Name: "root", Origin: pagetest.Root}); err != nil {
		t.Fatal(err)
	}
	v := signedIn(t, site, "root", pagetest.Root)
	for path, want := range map[string]*regexp.Regexp{
		"/reports":   regexp.MustCompile(`trap:<wbr>lure</a></td><td>.*</td><td class="n wide-only">2</td>`),
		"/reporters": regexp.MustCompile(`trap:<wbr>lure</a></td><td class="n">2</td>`),
	} {
		if body := v.get(path).Body.String(); !want.MatchString(body) || !regexp.MustCompile(`settled by an administrator</a></td>.*>decides</td>`).MatchString(body) {
			t.Errorf("%s does not say that the trap has a weight of 2, and that the administrator decides:\n%s", path, body)
		}
	}
}

// An error that is too high is marked, with what lowers it. The whole is the sum of the parts.
func TestMistakes(t *testing.T) {
	site := pagetest.New(t).Busy()
	s, err := site.Status()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range s.Database.Filters {
		sum += f.PerMail
	}
	if sum == 0 || math.Abs(sum-s.Database.ErrorPerMail) > 1e-9*sum {
		t.Errorf("the parts make %g mistakes a mail, all together %g", sum, s.Database.ErrorPerMail)
	}
	v := newVisit(t, site)
	if body := v.get("/filters").Body.String(); strings.Contains(body, "too high") || !strings.Contains(body, "are the sum of those of all parts") {
		t.Errorf("a good value is marked, or the sum is not explained:\n%s", body)
	}
	site.Break()
	site.Clock.Add(60)
	const short = `<span class="tag">too high</span> By estimate, about one mail in 25,000`
	if body := v.get("/").Body.String(); !strings.Contains(body, short) {
		t.Errorf("the first screen does not mark a value that is too high:\n%s", body)
	}
	const marked = `<span class="tag">too high</span> about one mail in 25,000 that nobody reported is called spam by mistake; the target is about one mail in 1 million or fewer. More room lowers it`
	if body := v.get("/filters").Body.String(); !strings.Contains(body, marked) || !strings.Contains(body, `<td class="n">1 in 25,000</td>`) {
		t.Errorf("a value that is too high is not marked, or does not follow from the rows:\n%s", body)
	}
}

// A campaign alone has in words what its row has in columns that narrow screens lack; a
// disagreement names both sides, and users are not mixed with sites.
func TestCampaignInWords(t *testing.T) {
	site := pagetest.New(t)
	letter := desktest.Letter(3, 0)
	for _, who := range []string{"anna", "bert"} {
		site.MustReport(who, letter)
	}
	site.MustRevoke("carla", letter)
	root, visitor := signedIn(t, site, "root", pagetest.Root), newVisit(t, site)
	alone := "/campaigns?q=" + url.QueryEscape(letter.Signatures[0].ID())
	body := root.get(alone).Body.String()
	for _, want := range []string{
		`anna</a>, <a href="/reports?by=bert">bert</a> reported it, <a href="/reports?by=carla">carla</a> revoked it.`,
		`<dt>revoked by</dt><dd><a href="/reports?by=carla">carla</a></dd>`, "2 reports of one message, 1 revocation</dd>",
		`narrow-only under wrap">reported 12:37</span>`, "“seen” counts copies at all sites. “mail here” counts",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("without %q:\n%s", want, body)
		}
	}
	if body := visitor.get(alone).Body.String(); !strings.Contains(body, "<dt>reported by</dt><dd>2 users of this site</dd>") || strings.Contains(body, "carla") {
		t.Errorf("a visitor reads\n%s", body)
	}
}

// Nothing that people read has the form of a placeholder, and an empty list says why it is empty.
func TestPlainWords(t *testing.T) {
	site := pagetest.New(t).Small().Break()
	v := signedIn(t, site, "root", pagetest.Root)
	for _, path := range []string{"/", "/sites", "/filters", "/explain?ask=no+id!", "/campaigns?only=contested", "/campaigns?only=listed"} {
		body := v.get(path).Body.String()
		for _, raw := range []string{"KIND", "[[", "STATE", "FILE", "No campaign matches"} {
			if strings.Contains(body, raw) {
				t.Errorf("%s has %q:\n%s", path, raw, body)
			}
		}
	}
	for path, want := range map[string]string{
		"/campaigns?only=contested": "No message is contested or held, so nothing waits for a decision.",
		"/campaigns?only=listed":    "No campaign is spam now.",
		"/campaigns?q=nothing":      "No campaign matches.",
		"/":                         "rm /var/lib/spambloom/history/2026-11.counts.damaged",
		"/explain?ask=" + url.QueryEscape("no id, !"): "This text has no id, and is no queue id.",
		"/explain?ask=" + url.QueryEscape("Subject: Re: order text:4c624232cdd22177 X-Spambloom: spam; kind=text; id=text:2c624232cdd22177"): "This text has several ids.",
	} {
		if body := v.get(path).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, body)
		}
	}
	wrong := v.get("/explain?ask=" + url.QueryEscape("no id, !")).Body.String()
	if !strings.Contains(wrong, `value="no id, !"`) || !strings.Contains(wrong, "data-drop") {
		t.Errorf("a text without an id cannot be mended in its form:\n%s", wrong)
	}
	campaigns, err := site.Campaigns()
	if err != nil || len(campaigns) == 0 {
		t.Fatal(campaigns, err)
	}
	known := v.get("/explain?ask=" + campaigns[0].ID).Body.String()
	if answer, form := strings.Index(known, "what is known"), strings.Index(known, "data-drop"); answer < 0 || form < answer {
		t.Errorf("the answer is not before the form for a message:\n%s", known)
	}
	unknown := v.get("/explain?ask=text:0000000000000000").Body.String()
	if note, form := strings.Index(unknown, "No report with this id"), strings.Index(unknown, "data-drop"); note < 0 || form < note || strings.Contains(unknown, "Reports of it") {
		t.Errorf("what is not known of an id does not come first:\n%s", unknown)
	}
	for _, path := range []string{"/", "/campaigns"} {
		if body := v.get(path).Body.String(); !strings.Contains(body, ">visible text<") || strings.Contains(body, "body, text") {
			t.Errorf("%s names kinds as headers do:\n%s", path, body)
		}
	}
}
