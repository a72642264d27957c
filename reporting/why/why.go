// Package why puts the explanation of a verdict in words, for the page and for `spambloom
// explain`: what is known of each part of a message, which weight is missing for another
// verdict, and which sites' reports may be missing here. It asks nothing and has no state.
package why

import (
	"fmt"

	"github.com/spambloom/spambloom/reporting/api"
)

// Settling is what it means to settle a message, and Settled what holds when it is done.
const (
	Settling = "Settling ends a disagreement, or decides about a held report. Later reports and revocations do not change it on this site. Other sites receive it as a report or a revocation, which counts there like any other."
	Settled  = "Settled: later reports and revocations do not change it on this site."
)

// maxNamed bounds the sites that are named: a holder of the federation key can invent some.
const maxNamed = 8

// Missing says whose reports may be missing in an explanation, and why: one sentence for each
// site.
func Missing(x *api.Explanation) (list []string) {
	for _, s := range x.Unheard[:min(len(x.Unheard), maxNamed)] {
		list = append(list, missing(s))
	}
	if more := len(x.Unheard) - maxNamed; more > 0 {
		list = append(list, fmt.Sprintf("Reports of %d more sites may be missing here.", more))
	}
	return list
}

func missing(s api.Site) string {
	switch {
	case s.State == api.StateSilent && s.Link != nil && s.Heard != nil:
		return fmt.Sprintf("The reports of %s since %s are missing here: it has not been heard since then.", s.Site, s.Heard.UTC().Format("2006-01-02 15:04 UTC"))
	case s.State == api.StateSilent:
		return fmt.Sprintf("The latest reports of %s are missing here: it has not been heard since the start.", s.Site)
	case s.State == api.StateStale:
		return fmt.Sprintf("The latest reports of %s are refused here: it runs on an older state folder.", s.Site)
	case s.State == api.StateClock:
		return fmt.Sprintf("The latest reports of %s may be missing here: its clock is off by %.1f h.", s.Site, s.SkewSeconds/3600)
	case s.State == api.StateCapped:
		return fmt.Sprintf("The latest reports of %s are refused here: it is over its cap until the period ends.", s.Site)
	case s.State == api.StateLoading:
		return fmt.Sprintf("Some reports of %s are missing here: its snapshot is still being read.", s.Site)
	}
	return fmt.Sprintf("Some reports of %s are missing here: its records have %s.", s.Site, count(s.Gaps, "gap"))
}

// Weight says which weight is missing for another verdict: of reports to list the message, or of
// revocations to revoke it. It is empty if none is, or if nobody here reported the message.
func Weight(x *api.Explanation) string {
	b := x.Backing
	switch isListed := len(x.Kinds) > 0; {
	case b == nil:
	case !isListed && b.Reports > 0 && b.Reports < b.Need:
		return fmt.Sprintf("%s here with a weight of %.3g reported it; a weight of %.3g is needed to list it.", count(int64(b.Reporters), "reporter"), b.Reports, b.Need)
	case isListed && b.Revokes > 0 && b.Revokes < b.Quorum:
		return fmt.Sprintf("It was revoked here with a weight of %.3g; a weight of %.3g is needed to end the listing.", b.Revokes, b.Quorum)
	}
	return ""
}

// Standing says what is known of one signature.
func Standing(x *api.Explanation, t api.Trace) string {
	switch {
	case t.Never && !x.Never:
		return "reported, but settled or declared as wanted here"
	case t.Never:
		return "reported, but on the never-list"
	case t.Listed && len(t.Revoked) > 0:
		return "reported again after a revocation"
	case t.Listed && x.Backing != nil && x.Backing.Revokes > 0:
		return "reported; the revocations do not end the listing"
	case t.Listed:
		return "reported, and not revoked"
	case len(t.Spam) > 0 && len(t.Revoked) > 0 && t.Revoked[0].Generation >= t.Spam[0].Generation:
		return "reported and revoked"
	case len(t.Spam) > 0:
		return "reported, and hidden on this site"
	case len(t.Revoked) > 0:
		return "revoked; no report lists it"
	case len(x.Unheard) > 0:
		return "not listed, as far as the sites were heard"
	}
	return "not listed by any site"
}

func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
