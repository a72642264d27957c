// Package finding is the line that a check prints: OK, or a warning with its consequence
// and the command that mends it. The verbs doctor and setup share it. It owns no check.
package finding

import (
	"fmt"
	"slices"
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

	IsFault bool `json:"-"` // a warning: mail is not judged, or not as it should be
}

// Good returns a check that is OK.
func Good(check, format string, args ...any) Finding {
	return Finding{Check: check, State: OK, Text: fmt.Sprintf(format, args...)}
}

// Bad returns a warning. Command is what mends it.
func Bad(check, command, format string, args ...any) Finding {
	return Finding{Check: check, State: Warning, Text: fmt.Sprintf(format, args...), Command: command}
}

// Fault returns a warning that mail is not judged, or not as it should be.
func Fault(check, command, format string, args ...any) Finding {
	f := Bad(check, command, format, args...)
	f.IsFault = true
	return f
}

// Skip returns a check that was not made, with the reason.
func Skip(check, format string, args ...any) Finding {
	return Finding{Check: check, State: Skipped, Text: fmt.Sprintf(format, args...)}
}

// Print prints one line for each finding, or one JSON object. The number of warnings among them
// is a line for people.
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
		streams.Note("warning", fmt.Sprintf("%d of %d checks warn; see above", warnings, len(findings)))
	}
	return nil
}

// Warned returns the exit code 1 if there is a warning.
func Warned(findings []Finding) error {
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.State == Warning }) {
		return verb.Exit(verb.Declined)
	}
	return nil
}

// Failed returns the exit code 1 if mail is not judged, or not as it should be.
func Failed(findings []Finding) error {
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.IsFault }) {
		return verb.Exit(verb.Declined)
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
