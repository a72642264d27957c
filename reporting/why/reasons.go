package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
)

// Reason is what is known of one part of a message, in words.
type Reason struct {
	What, ID, Text string
	Where          string
	Counts         bool // it stands: not revoked, hidden or too weak
}

// Reasons says what is known of each part of a message.
func Reasons(x *api.Explanation) (list []Reason) {
	for _, t := range x.Signatures {
		b := Reason{What: Kind(t.Kind), ID: t.ID, Counts: t.Listed, Text: Standing(x, t)}
		b.Where = strings.Join(slices.Concat(trails(t.Spam, ""), trails(t.Revoked, "revoked at "), votes(t.Votes)), "; ")
		list = append(list, b)
	}
	for _, t := range x.Sketches {
		for _, s := range t.Spam {
			b := Reason{What: Kind(t.Kind), ID: s.ID, Counts: s.Found >= s.Need && slices.Contains(x.Kinds, t.Kind), Text: Likeness(s, "reported")}
			b.Where = fmt.Sprintf("%s, since %s", s.Site, s.Start.Local().Format("2 Jan"))
			if s.Found >= s.Need && len(t.Revoked) > 0 && !b.Counts {
				b.Text += "; revoked"
			}
			list = append(list, b)
		}
	}
	for _, t := range x.Domains {
		list = append(list, Reason{What: "link", ID: t.Domain, Counts: t.Alone, Where: strings.Join(t.Reported, ", "), Text: Domain(x, t)})
	}
	return list
}

// witnesses describes what joins the structure of a page in a match, by its name.
var witnesses = map[string]string{
	"two-senders":   "the same page, under two senders' domains",
	"three-senders": "a page of the same outline, under three senders' domains",
	"words":         "a page of nearly the same structure, with some of its words, links or pictures",
}

// Likeness says how like a part of another message is, which was reported or revoked, and whether
// that suffices.
func Likeness(t api.SketchTrail, action string) string {
	text := fmt.Sprintf("%d of %d features of a %s message; %d are needed", t.Found, t.Keys, action, t.Need)
	if t.Weak > 0 && t.Weak < t.Need && t.Found < t.Need {
		text += fmt.Sprintf(", or %d with other evidence", t.Weak)
	}
	if t.By != "" {
		text = cmp.Or(witnesses[t.By], t.By) + ": " + text
	}
	if t.Common > 0 {
		text += fmt.Sprintf("; %d more are in mail of many senders, so they are no evidence here", t.Common)
	}
	return text
}

// Domain says what is known of the domain of a link.
func Domain(x *api.Explanation, t api.DomainTrace) string {
	switch {
	case t.Ignored:
		return "no evidence: it is well known, or in never_alone"
	case t.Alone:
		return "almost only in spam: " + seen(t)
	case len(t.Reported) > 0 || t.Campaigns > 0:
		return "reported; " + seen(t) + doubt(t)
	case t.NotAlone == "common":
		return "in mail of many senders, so it is no evidence here"
	case len(x.Unheard) > 0:
		return "no report of it counts, as far as the sites were heard; " + seen(t)
	}
	return "no report of it counts; " + seen(t)
}

// seen says how much mail with a domain this site has seen.
func seen(t api.DomainTrace) string {
	switch {
	case t.Campaigns+t.Sightings == 0:
		return "not seen here"
	case t.Campaigns == 0:
		return "here in " + count(int64(t.Sightings), "message")
	case t.Sightings == 0:
		return "here in " + count(int64(t.Campaigns), "campaign")
	}
	return fmt.Sprintf("here in %s and %s", count(int64(t.Campaigns), "campaign"), count(int64(t.Sightings), "other message"))
}

// doubt says why a reported domain does not list messages alone.
func doubt(t api.DomainTrace) string {
	because := map[string]string{
		"off":       "[domains] alone is off",
		"common":    "mail of many senders has it",
		"campaigns": "these are too few campaigns ([domains] campaigns)",
		"sightings": "too much mail that nobody reported has it",
		"mail":      fmt.Sprintf("too little innocent mail was seen here to know that at most 0.05 %% of it has the domain (up to %.2g %% may)", 100*cmp.Or(t.OrdinaryRate, 1)),
		"revoked":   "a message with it was revoked since",
	}[t.NotAlone]
	if because == "" {
		return ""
	}
	return "; no evidence alone: " + because
}

// trails names the sites of a signature and their periods.
func trails(list []api.Trail, what string) (sites []string) {
	for _, t := range list {
		where := fmt.Sprintf("%s%s, period from %s", what, t.Site, t.Start.Local().Format("2 Jan"))
		for _, c := range t.Classes {
			where += " (" + c.String() + ")"
		}
		if t.Retouched {
			where += ", hidden here"
		}
		sites = append(sites, where)
	}
	return sites
}

// votes names the sites that are heard for votes only.
func votes(list []api.Vote) (sites []string) {
	for _, v := range list {
		where := "vote of " + v.Site
		if v.Stale {
			where += ", too old to count"
		}
		sites = append(sites, where)
	}
	return sites
}

// Kinds names the kinds of a message's signatures for people. Each message has an exact body, which
// is named if it is the only one.
func Kinds(kinds []string) string {
	var list []string
	for _, kind := range kinds {
		if kind != "body" || len(kinds) == 1 {
			list = append(list, Kind(kind))
		}
	}
	return strings.Join(list, ", ")
}

// Kind names a kind of signature for people.
func Kind(kind string) string {
	switch kind {
	case "body":
		return "exact body"
	case "text":
		return "visible text"
	case "sketch":
		return "similar text"
	case "image":
		return "similar picture"
	case "attachment":
		return "attachment"
	case "content":
		return "content of an attachment"
	case "shape":
		return "structure of the page"
	case "domain":
		return "link"
	case "phrase":
		return "few words with a link"
	}
	return kind
}
