package page_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// A site's false matches are a chance. A share of those of all sites is 100 % where only one site
// has reports, as after a start, and looks like a fault.
func TestChanceOfFalseMatches(t *testing.T) {
	text := newVisit(t, pagetest.New(t).Busy()).get("/sites").Body.String()
	if !strings.Contains(text, "false matches, by estimate") || !strings.Contains(text, "1 in ") || strings.Contains(text, "100.0") {
		t.Errorf("/sites:\n%s", text)
	}
}
