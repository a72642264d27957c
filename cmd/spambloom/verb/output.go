package verb

import (
	"fmt"
	"strings"
)

// Print writes a result; see visible. With --quiet, it omits a line about what was accepted.
func (c *CLI) Print(text string) error {
	if c.Quiet && c.Changes {
		return nil
	}
	c.clearBar()
	return c.Streams.Print(text)
}

// PrintJSON writes a result as one line.
func (c *CLI) PrintJSON(v any) error {
	c.clearBar()
	return c.Streams.PrintJSON(v)
}

// clearBar removes the progress bar if results appear on its terminal.
func (c *CLI) clearBar() {
	if c.Changes && IsTerminal(c.Out) {
		c.bar.clear()
	}
}

// PrintEither writes a result in one of its two forms.
func (c *CLI) PrintEither(asJSON bool, v any, text string) error {
	if asJSON {
		return c.PrintJSON(v)
	}
	return c.Print(text)
}

// PrintList writes a list as a table, or as JSON, one object per line.
func PrintList[T any](c *CLI, asJSON bool, list []T, table func([]T) string) error {
	if !asJSON {
		heading, rows, _ := strings.Cut(table(list), "\n")
		return c.Print(Paint(c.Out, Bold, heading) + "\n" + rows)
	}
	for _, v := range list {
		if err := c.PrintJSON(v); err != nil {
			return err
		}
	}
	return nil
}

// Notify writes a line to stderr, above the progress bar. Further lines of text are indented, so that
// none looks like another notice. kind is error, warning, hint or total; --quiet prints no hints and
// totals.
func (c *CLI) Notify(kind, text string) {
	if c.Quiet && (kind == "hint" || kind == "total") {
		return
	}
	c.bar.clear()
	fmt.Fprintf(c.Err, "spambloom: %s: %s\n", Paint(c.Err, kindColours[kind], kind), strings.ReplaceAll(visible(text), "\n", "\n  "))
}

// ErrorText returns the text of an error for a JSON object, empty for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
