package whiteclnt

import (
	"fmt"
	"slices"
	"strings"
)

// options are DCC's options without a value.
var options = []string{
	"log-all", "log-normal", "log-subdirectory-day", "log-subdirectory-hour", "log-subdirectory-minute",
	"greylist-on", "greylist-off", "greylist-ignore-spam-on", "greylist-ignore-spam-off", "greylist-log-on", "greylist-log-off",
	"dcc-on", "dcc-off", "dcc-rep-on", "dcc-rep-off", "dcc-reps-on", "dcc-reps-off",
	"dnsbl-on", "dnsbl-off", "dnsbl1-on", "dnsbl1-off", "dnsbl2-on", "dnsbl2-off", "dnsbl3-on", "dnsbl3-off", "dnsbl4-on", "dnsbl4-off",
	"mta-first", "mta-last", "forced-discard-ok", "no-forced-discard", "no_forced-discard", "forced-discard-nok",
	"spam-trap-discard", "spam-trap-discards", "spam-trap-reject", "spam-trap-rejects", "spam-trap-accept", "not-spam-trap",
}

// option skips an option of DCC.
func (r *reader) option(text string) error {
	name, value := cutWord(strings.ToLower(text))
	threshold := name == "threshold" && strings.Contains(value, ",")
	if !threshold && (value != "" || !slices.Contains(options, name)) {
		return fmt.Errorf("unknown option%s", r.quote(text))
	}
	r.pass("the option " + name + " is not supported")
	return nil
}
