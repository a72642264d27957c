package config

import (
	"cmp"
	"errors"
	"fmt"
)

// These checks cover keys of different sections, or of one that is not a list. A key whose
// condition another one excludes has no effect, and nobody would notice.

// checkMemory rejects a memory limit that is smaller than a message.
func (f *file) checkMemory() {
	m := f.config.Milter
	if m.MaxMemory >= m.MaxMessage {
		return
	}
	path := "milter.max_memory"
	if f.lines[path] == 0 {
		path = "milter.max_message"
	}
	f.fault(f.lines[path], path, fmt.Errorf("max_memory is %s, less than max_message, which is %s", literal(showSize(m.MaxMemory)), literal(showSize(m.MaxMessage))))
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
			literal(b.GreylistFrom), literal(highest)))
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
