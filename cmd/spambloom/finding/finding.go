// Package finding is the line that a check prints: OK, or a warning with its consequence
// and the command that mends it. The verbs doctor and setup share it. It owns no check.
package finding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// The states of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Skipped = "skipped"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	State   string `json:"state"` // OK, Warning or Skipped
	Text    string `json:"text"`  // what is so, and its consequence
	Command string `json:"command,omitempty"`
}

// Good returns a check that is OK.
func Good(check, format string, args ...any) Finding {
	return Finding{Check: check, State: OK, Text: fmt.Sprintf(format, args...)}
}

// Bad returns a warning. Command is what mends it.
func Bad(check, command, format string, args ...any) Finding {
	return Finding{check, Warning, fmt.Sprintf(format, args...), command}
}

// Skip returns a check that was not made, with the reason.
func Skip(check, format string, args ...any) Finding {
	return Finding{Check: check, State: Skipped, Text: fmt.Sprintf(format, args...)}
}

// errWarnings is the error of a run with a warning, which was printed.
var errWarnings = errors.New("something needs you; see the warnings above")

// Print prints one line for each finding, or one JSON object. With a warning among them it
// returns an error with the exit code 1.
func Print(streams verb.Streams, findings []Finding, asJSON bool) error {
	warnings := 0
	for _, f := range findings {
		if f.State == Warning {
			warnings++
		}
		if err := f.print(streams, asJSON); err != nil {
			return err
		}
	}
	if warnings > 0 {
		return &verb.Fault{Code: verb.Declined, Err: fmt.Errorf("%w (%d of %d checks)", errWarnings, warnings, len(findings))}
	}
	return nil
}

// print prints a finding. Further lines of its text, which may be an answer of Redis, are
// indented, so that none looks like another finding.
func (f Finding) print(streams verb.Streams, asJSON bool) error {
	if asJSON {
		return streams.PrintJSON(f)
	}
	indent := strings.NewReplacer("\n", "\n"+strings.Repeat(" ", 17))
	text := fmt.Sprintf("%-8s %-7s %s\n", strings.ToUpper(f.State), f.Check, indent.Replace(f.Text))
	if f.Command != "" {
		text += fmt.Sprintf("%17s%s\n", "-> ", indent.Replace(f.Command))
	}
	return streams.Print(text)
}
