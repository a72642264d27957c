package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// print writes a result. With --quiet, a line of what was accepted is none.
func (c *cli) print(text string) error {
	if c.quiet && c.changes {
		return nil
	}
	return c.write(text)
}

func (c *cli) write(text string) error {
	if c.changes && verb.IsTerminal(c.Out) {
		c.bar.clear()
	}
	if _, err := io.WriteString(c.Out, text); err != nil {
		return verb.OutputError(err)
	}
	return nil
}

// printJSON writes a result as one line.
func (c *cli) printJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(string(data) + "\n")
}

// printEither writes a result in one of its two forms.
func (c *cli) printEither(asJSON bool, v any, text string) error {
	if asJSON {
		return c.printJSON(v)
	}
	return c.print(text)
}

// printList writes a list as a table, or as JSON, one object per line.
func printList[T any](c *cli, asJSON bool, list []T, table func([]T) string) error {
	if !asJSON {
		heading, rows, _ := strings.Cut(table(list), "\n")
		return c.print(paint(c.Out, bold, heading) + "\n" + rows)
	}
	for _, v := range list {
		if err := c.printJSON(v); err != nil {
			return err
		}
	}
	return nil
}

// newTable returns a writer that aligns cells, which tabs end, when it is flushed.
func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// columns returns the output of write, aligned as a table.
func columns(write func(table io.Writer)) string {
	var b strings.Builder
	table := newTable(&b)
	write(table)
	table.Flush() // into b, which cannot fail
	return b.String()
}

// notify writes a line to stderr, above the progress bar. kind is error, warning, hint or
// total; --quiet prints no hints and totals.
func (c *cli) notify(kind, text string) {
	if c.quiet && (kind == "hint" || kind == "total") {
		return
	}
	c.bar.clear()
	fmt.Fprintf(c.Err, "spambloom: %s: %s\n", paint(c.Err, kindColours[kind], kind), text)
}

// errorText returns the text of an error for a JSON object, empty for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// instant formats a time to the minute. minute does so for columns, without the zone.
func instant(t time.Time) string { return t.UTC().Format(time.DateOnly + " 15:04 MST") }
func minute(t time.Time) string  { return t.UTC().Format(time.DateOnly + " 15:04") }
