package variation

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// TestPageKinds: what each kind of changed page keeps of the page, and what it changes.
func TestPageKinds(t *testing.T) {
	mails, raws := samples(t)
	from := material(mails)
	i := slices.IndexFunc(mails, func(m *message.Mail) bool { return strings.HasSuffix(m.Name, "page.eml") })
	tags := regexp.MustCompile(`<[a-z]+`)
	attributes := regexp.MustCompile(`[a-z]+="[^"]*"`)
	of := func(pattern *regexp.Regexp, page string) []string {
		found := pattern.FindAllString(page, -1)
		slices.Sort(found)
		return found
	}
	original := mails[i].Pages()[0]
	for kind, c := range map[string]struct {
		keepsTags, keepsAttributes bool
		has                        string
	}{
		"page-words":      {true, true, `href="http://www.parcel.example/pay/4711"`},
		"page-few-words":  {true, true, `src="http://pictures.parcel.example/logo.png"`},
		"page-pictures":   {true, false, `src="http://img.`},
		"page-rows":       {false, false, `<body bgcolor="#f0f0f0" link="#003366">`},
		"page-wrappers":   {false, true, `bgcolor="#ffcc00"`},
		"page-classes":    {true, false, `class="button"`},
		"page-attributes": {true, true, `alt="Parcel service"`},
		"page-links":      {true, false, `href="http://www.parcel.example/pay/4711/`},
		"page-redirects":  {true, false, `www.parcel.example`},
		"page-poison":     {true, true, `class="button"`},
	} {
		k, ok := Find(kind)
		if !ok {
			t.Fatalf("there is no kind %s", kind)
		}
		_, copied, ok := k.Vary(1, from, mails[i], raws[i])
		m, err := message.Parse(kind, copied)
		if !ok || err != nil {
			t.Fatalf("%s: varied %v, %v", kind, ok, err)
		}
		page := m.Pages()[0]
		if same := slices.Equal(of(tags, page), of(tags, original)); same != c.keepsTags {
			t.Errorf("%s: keeps the tags: %v\n%s", kind, same, page)
		}
		if same := slices.Equal(of(attributes, page), of(attributes, original)); same != c.keepsAttributes {
			t.Errorf("%s: keeps the attributes: %v\n%s", kind, same, page)
		}
		if !strings.Contains(page, c.has) {
			t.Errorf("%s: %s is not in\n%s", kind, c.has, page)
		}
		if strings.Contains(page, "could not be brought to your house this") {
			t.Errorf("%s: the words are those of the original", kind)
		}
	}
}
