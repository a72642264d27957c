package config

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// These checks cover keys of different sections, or of one that is not a list. A key whose
// condition another one excludes has no effect, and nobody would notice.

// checkMinimums rejects a memory limit that is smaller than a message, and a score of spam that
// no client takes for spam.
func (f *file) checkMinimums() {
	m, s := f.config.Milter, f.config.Spamd
	if m.MaxMemory < m.MaxMessage {
		f.less("milter", "max_memory", "max_message", value.Literal(value.ShowSize(m.MaxMemory)), value.Literal(value.ShowSize(m.MaxMessage)), "")
	}
	if s.SpamScore < s.Threshold {
		f.less(spamdSection, "spam_score", "threshold", fmt.Sprint(s.SpamScore), fmt.Sprint(s.Threshold), ": no mail would be spam")
	}
}

// less records that one key of a section is less than another. The fault is at the first of
// them, unless only the other is set.
func (f *file) less(section, name, other, shown, least, why string) {
	path := section + "." + name
	if f.lines[path] == 0 {
		path = section + "." + other
	}
	f.fault(f.lines[path], path, fmt.Errorf("%s is %s, less than %s, which is %s%s", name, shown, other, least, why))
}

// checkGreylist rejects a greylist that defers nothing: its sightings also count for the
// threshold.
func (f *file) checkGreylist() {
	b := f.config.Bulk
	if !b.Greylist {
		return
	}
	if b.Burst == 0 {
		f.fault(f.lines["bulk.greylist"], "bulk.greylist", fmt.Errorf("requires bulk.burst, which is \"0s\"; allowed: true with a burst of %q or more", "1m"))
	}
	highest := b.Threshold
	for _, p := range f.config.Policies {
		highest = max(highest, p.BulkThreshold)
	}
	if b.GreylistFrom >= highest {
		line := cmp.Or(f.lines["bulk.greylist_from"], f.lines["bulk.greylist"])
		f.fault(line, "bulk.greylist_from", fmt.Errorf("%s is not below the bulk threshold, which is %s: such a message is already bulk; allowed: less than that",
			value.Literal(b.GreylistFrom), value.Literal(highest)))
	}
}

// checkClasses rejects actions for classes of spam if classes are not kept, because such
// spam never occurs.
func (f *file) checkClasses(policies []table) {
	if f.config.Reports.Classes {
		return
	}
	why := errors.New("requires reports.classes, which is false: no spam has a class; allowed: with classes = true in [reports]")
	check := func(section string, line func(name string) int, phish, scam, malware, bulk string) {
		for _, k := range []struct{ name, action string }{
			{"spam_phish", phish}, {"spam_scam", scam}, {"spam_malware", malware}, {"spam_bulk", bulk},
		} {
			if k.action != "" {
				f.fault(line(k.name), section+"."+k.name, why)
			}
		}
	}
	a := f.config.Actions
	check("actions", func(name string) int { return f.lines["actions."+name] }, a.SpamPhish, a.SpamScam, a.SpamMalware, a.SpamBulk)
	for i, t := range policies {
		p := f.config.Policies[i]
		check(policySection, t.lineOf, p.SpamPhish, p.SpamScam, p.SpamMalware, p.SpamBulk)
	}
}
