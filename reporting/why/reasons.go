package why

import (
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
		b := Reason{What: Kind(t.Kind), ID: t.ID, Counts: t.Listed, Text: standing(x, t)}
		b.Where = strings.Join(slices.Concat(trails(t.Spam, ""), trails(t.Revoked, "revoked at "), votes(t.Votes)), "; ")
		list = append(list, b)
	}
	for _, t := range x.Sketches {
		for _, s := range t.Spam {
			b := Reason{What: Kind(t.Kind), ID: s.ID, Counts: s.Found >= s.Need && slices.Contains(x.Kinds, t.Kind), Where: fmt.Sprintf("%s, since %s", s.Site, s.Start.Local().Format("2 Jan"))}
			b.Text = fmt.Sprintf("%d of %d features of a reported message; %d are needed", s.Found, s.Keys, s.Need)
			if s.Found >= s.Need && len(t.Revoked) > 0 && !b.Counts {
				b.Text += "; revoked"
			}
			if s.Common > 0 {
				b.Text += fmt.Sprintf("; %d more are in mail of many senders, so they are no evidence here", s.Common)
			}
			list = append(list, b)
		}
	}
	for _, t := range x.Domains {
		b := Reason{What: "link", ID: t.Domain, Counts: t.Alone, Where: strings.Join(t.Reported, ", ")}
		switch {
		case t.Ignored:
			b.Text = "too common to be evidence"
		case t.NotAlone == "common":
			b.Text = "in mail of many senders, so it is no evidence here"
		case t.Campaigns > 0:
			b.Text = fmt.Sprintf("in %s, and in %s", count(int64(t.Campaigns), "reported campaign"), count(int64(t.Sightings), "other message"))
		case len(t.Reported) > 0:
			b.Text = "in a reported message"
		case len(x.Unheard) > 0:
			b.Text = "not reported, as far as the sites were heard; seen in " + count(int64(t.Sightings), "message")
		default:
			b.Text = "never reported, seen in " + count(int64(t.Sightings), "message")
		}
		list = append(list, b)
	}
	return list
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
