// Package verb is what all verbs share with the command: its streams, questions and output,
// the connection to the daemon, the places of files, and errors with their exit codes and
// hints. It owns no verb. Verbs for many messages also share package batch.
package verb

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrDeclined is the error of a question that was not answered with yes.
var ErrDeclined = errors.New("not confirmed; nothing was changed")

// Streams are those of one run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Print writes a result; see visible.
func (s Streams) Print(text string) error { return s.write(visible(text)) }

// Clear empties a terminal (ECMA-48, CUP and ED).
func (s Streams) Clear() error { return s.write("\x1b[H\x1b[2J") }

// PrintJSON writes a result as one line.
func (s Streams) PrintJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(visibleJSON(string(data)) + "\n")
}

func (s Streams) write(text string) error {
	if _, err := io.WriteString(s.Out, text); err != nil {
		return OutputError(err)
	}
	return nil
}

// Note writes a line to standard error. Kind is warning or hint.
func (s Streams) Note(kind, text string) {
	fmt.Fprintf(s.Err, "spambloom: %s: %s\n", kind, visible(text))
}

// Show writes text that is no result to standard error; see visible.
func (s Streams) Show(text string) { fmt.Fprint(s.Err, visible(text)) }

// Confirm asks a question unless yes is set. It returns nil if the answer is yes. Without a
// terminal it asks nothing and fails.
func (s Streams) Confirm(question string, yes bool) error {
	switch {
	case yes:
		return nil
	case !IsTerminal(s.In):
		return UsageError(errors.New("not a terminal: add --yes to confirm"))
	case !s.Ask(question):
		return &Fault{Declined, ErrDeclined, ""}
	}
	return nil
}

// Ask reports whether a question was answered with yes.
func (s Streams) Ask(question string) bool {
	fmt.Fprintf(s.Err, "spambloom: %s [y/N] ", visible(question))
	answer, err := bufio.NewReader(io.LimitReader(s.In, 64)).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(s.Err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
