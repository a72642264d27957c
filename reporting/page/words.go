package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/why"
)

var words = template.FuncMap{
	"n":        thousands,
	"oneIn":    overview.OneIn,
	"size":     size,
	"percent":  percent,
	"chance":   overview.Chance,
	"count":    count,
	"safe":     safe,
	"prose":    prose,
	"say":      sentence,
	"who":      who,
	"from":     func(origin string) string { return safe(overview.From(origin)) },
	"short":    short,
	"join":     strings.Join,
	"share":    share,
	"few":      func(list []string) []string { return list[:min(len(list), fewShown)] },
	"others":   func(list []string) int { return max(0, len(list)-fewShown) },
	"kind":     func(id string) string { kind, _, _ := strings.Cut(id, ":"); return why.Kind(kind) },
	"kinds":    why.Kinds,
	"settling": func() string { return why.Settling },
	"weight":   weight,
	"deed":     deed,
	"but": func(here string, sites []string) []string {
		return slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return site == here })
	},
}

func thousands(n any) string {
	switch n := n.(type) {
	case uint64:
		return overview.Thousands(n)
	case int64:
		return overview.Thousands(uint64(max(n, 0)))
	case int:
		return overview.Thousands(uint64(max(n, 0)))
	}
	return fmt.Sprint(n)
}

// percent formats a share; a small one is not nothing.
func percent(x float64) string {
	if x > 0 && x < 0.0005 {
		return "<0.1\u00a0%"
	}
	return fmt.Sprintf("%.1f\u00a0%%", 100*x)
}

// count counts things: "1 mail", "2 mails".
func count(n any, thing string) string {
	text := thousands(n)
	if text != "1" {
		thing += "s"
	}
	return text + " " + thing
}

// share returns a part of a whole in percent.
func share(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// fewShown bounds the reporters of a campaign that the first screen names.
const fewShown = 2

// sentence makes a sentence of an error's text.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// maxShown bounds a text from outside that is shown, in characters.
const maxShown = 300

// safe makes a text from outside fit to be shown: it is cut, and control characters and
// those that change the direction of a text are removed (Unicode Technical Report 36).
func safe(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == maxShown {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t':
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			continue
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// dateIn finds dates in sentences, with the time of the day.
var dateIn = regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?: \d\d:\d\d(?: ?[A-Z]{1,5}\b)?)?`)

// prose shows sentences from outside, in which no line ends within a date: browsers break lines
// at hyphens. The date itself does not change, so that it can be copied.
func prose(text string) template.HTML {
	return template.HTML(dateIn.ReplaceAllString(template.HTMLEscapeString(safe(text)), `<span class="date">$0</span>`))
}

// weight formats the weight of a report.
func weight(reporter string, w float64) string {
	if reporter == api.Settler {
		return "decides"
	}
	return fmt.Sprintf("%.2g", w)
}

// deeds are the words for actions that are no reports.
var deeds = map[string]string{
	"never": "declared never spam", "remove": "removed from the never-list", "retouch": "hidden on this site",
	"settle": "settled as", "undo": "undone:", "weight": "weight of", "mute": "muted", "unmute": "no longer muted", "drop": "dropped",
}

// deed puts an action that is no report in words.
func deed(action string) string { return cmp.Or(deeds[action], action) }

// who names a reporter or a site. Where there is little room, the name goes on in the next line
// after an @, a dot or a colon, or after longPart characters without one.
func who(name string) template.HTML {
	if name == api.Settler {
		return "settled by an administrator"
	}
	var b strings.Builder
	run := 0
	for _, r := range safe(name) {
		if run == longPart {
			b.WriteString("<wbr>")
			run = 0
		}
		b.WriteString(template.HTMLEscapeString(string(r)))
		if run++; r == '@' || r == '.' || r == ':' {
			b.WriteString("<wbr>")
			run = 0
		}
	}
	return template.HTML(b.String())
}

// longPart is the length of a part of a name that still fits into a column of a telephone.
const longPart = 18

// short returns the beginning of an id, which is enough for people: 8 digits and the kind.
func short(id string) string {
	kind, digits, _ := strings.Cut(id, ":")
	return cmp.Or(digits[:min(8, len(digits))], kind)
}

// Verdicts lists what judged mail can be narrowed to.
func (v *view) Verdicts() []string { return []string{"spam", "bulk", "clean", "allowed", spared} }

// Ago and When put a time in words.
func (v *view) Ago(t time.Time) string { return overview.Ago(t, v.Now) }

// When is the time of a day for today, else the date.
func (v *view) When(t time.Time) string {
	t, now := t.Local(), v.Now.Local()
	switch {
	case t.IsZero():
		return "never"
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2\u00a0Jan 15:04")
	}
	return t.Format("2\u00a0Jan 2006")
}

// Brief is the time of a day for today, else the day.
func (v *view) Brief(t time.Time) string {
	if v.Day(t) == v.Day(v.Now) {
		return v.When(t)
	}
	return v.Day(t)
}

// Day is the day of a time, with its year unless it is this one.
func (v *view) Day(t time.Time) string {
	t, now := t.Local(), v.Now.Local()
	if t.Year() == now.Year() {
		return t.Format("2\u00a0Jan")
	}
	return t.Format("2\u00a0Jan 2006")
}

// Clock is the time at which the page was made.
func (v *view) Clock() string { return v.Now.Local().Format("15:04:05 MST") }

// Stamp is the whole time, for machines and tooltips.
func (v *view) Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Zone is the time zone of the page.
func (v *view) Zone() string { return v.Now.Local().Format("MST") }

// With returns the address of this page with one parameter changed, on its first page.
func (v *view) With(name, value string) string {
	q := url.Values{}
	for key, values := range v.Query {
		if key != "page" && key != name {
			q[key] = values
		}
	}
	if value != "" {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return v.Path
	}
	return v.Path + "?" + q.Encode()
}
