package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// print writes a result.
func (c *cli) print(text string) error {
	if _, err := io.WriteString(c.stdout, text); err != nil {
		return &outputError{err}
	}
	return nil
}

// printJSON writes a result as one line.
func (c *cli) printJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.print(string(data) + "\n")
}

// tell writes a line to stderr while messages are worked on: an error, a warning.
func (c *cli) tell(kind, text string) {
	c.bar.clear()
	fmt.Fprintf(c.stderr, "spambloom: %s: %s\n", kind, text)
}

// errorText is the text of an error in a JSON object, empty for none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// instant writes a moment to the minute.
func instant(t time.Time) string { return t.UTC().Format(time.DateOnly + " 15:04 MST") }
