package status

import (
	"context"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

// showReady prints whether the daemon does all of its work, for health checks. If not, it
// prints why, and the exit code is 75.
func showReady(ctx context.Context, c *verb.CLI) error {
	s, err := verb.Asked(ctx, c, v1.Status)
	if err != nil {
		return err
	}
	causes := unready(s)
	if len(causes) == 0 {
		return c.Print("ready\n")
	}
	for _, cause := range causes {
		c.Notify("error", "not ready: "+cause)
	}
	return verb.Exit(verb.TempFail)
}

// unready returns why mail is not judged, reports are not written, or the other sites are
// not heard.
func unready(s api.Status) (causes []string) {
	if s.Overview != nil {
		for _, need := range s.Overview.Needs {
			if need.IsFault {
				causes = append(causes, strings.TrimSuffix(need.Text, "."))
			}
		}
	}
	exchange, _ := splitFacts(s.Daemon)
	if exchange != nil && !exchange.Connected {
		cause := "Redis is not connected"
		if exchange.LastError != "" {
			cause += ": " + link.Plain(exchange.LastError)
		}
		causes = append(causes, cause)
	}
	return causes
}
