package repair

import (
	"strings"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// Expendable reports whether the loss of a file costs no reports of this site.
func Expendable(name string) bool {
	t, own := snapshot.ParseOwnPath(name)
	switch {
	case IsMisnamed(name): // no file that the identity names is missing
		return true
	case own:
		return t.Kind == layout.ClassFilter || t.Kind == layout.CountFilter || t.Kind == layout.DomainFilter
	case strings.HasPrefix(name, "site-"), never.IsPath(name), name == clock.File, name == journal.SegmentsFile:
		return true
	}
	_, votes := vote.ParseOwnVotesPath(name)
	_, isMask := mask.ParsePath(name)
	_, isCommon := commonness.Files.Parse(name)
	return votes || isMask || isCommon
}

// CostOf describes the content of a file, and so the cost of its loss.
func CostOf(name string) string {
	t, own := snapshot.ParseOwnPath(name)
	_, votes := vote.ParseOwnVotesPath(name)
	_, isMask := mask.ParsePath(name)
	_, isCommon := commonness.Files.Parse(name)
	switch {
	case IsMisnamed(name):
		return "nothing, if no other file is missing: no file of the state has this name"
	case own && t.Kind == layout.CountFilter:
		return "this site's counts of messages of one period"
	case own && t.Kind == layout.DomainFilter:
		return "this site's counts of link domains"
	case own && t.Kind == layout.ClassFilter:
		return "the classes of this site's reports of one period"
	case own:
		return "reports and revocations of this site that neither journal nor ledger contains"
	case votes:
		return "some of this site's votes for sites that trust it by vote"
	case isCommon:
		return "what was learned of common mail in one period"
	case isMask:
		return "the retouched messages of one period: retouch them again"
	case store.IsVotesPath(name):
		return "another site's votes, until it publishes them again"
	case strings.HasPrefix(name, "site-"):
		return "another site's reports and counts, until they are read again from Redis"
	case never.IsPath(name):
		return "one message of the never-list: declare it again with spambloom never"
	case name == "reports.db":
		return "who reported what, as far as the repair did not find it"
	case name == clock.File:
		return clock.Cost
	case name == "identity":
		return "possibly some muted sites: check that all still are"
	case name == journal.SegmentsFile:
		return "the check that the journal was complete at this start"
	case strings.HasPrefix(name, "journal-"):
		return "changes that no snapshot contained yet; spambloomd --repair restores those in the ledger"
	}
	return "its content; the output of spambloomd --repair states how much"
}
