package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// printTable writes the rows of one experiment, one line each. Below them it writes
// the reasons for the tolerances, by letters, and the notes, by numbers.
func printTable(w io.Writer, e lab.Experiment, rows []lab.Row) error {
	var reasons, notes footnotes
	var table bytes.Buffer
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := 0 // of the names, which are left-aligned
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row.Cell))
	}
	fmt.Fprintf(t, "%-*s\tpaper\treference\tmeasured\tsd\trounds\ttolerance\t\twithin\tnote\t\n", width, "cell")
	for _, row := range rows {
		why, note := "", ""
		if i, ok := reasons.add(row.Why); ok {
			why = string('a' + rune(i))
		}
		if i, ok := notes.add(row.Note); ok {
			note = strconv.Itoa(i + 1)
		}
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n", width, row.Cell,
			decimal(row.Paper), decimal(row.Reference), decimal(row.Measured), decimal(row.SD), row.Rounds,
			decimal(row.Tolerance), why, within(row), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s: %s\n(%s)\n\n", e.Name, e.Title, e.Source)
	for line := range bytes.Lines(table.Bytes()) {
		out.Write(bytes.Trim(line, " \n"))
		out.WriteByte('\n')
	}
	for i, why := range reasons {
		fmt.Fprintf(&out, "%c: %s\n", 'a'+rune(i), why)
	}
	for i, note := range notes {
		fmt.Fprintf(&out, "%d: %s\n", i+1, note)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// footnotes are the different texts to which rows refer.
type footnotes []string

// add returns the index of a text; ok is false if the text is empty.
func (f *footnotes) add(text string) (i int, ok bool) {
	if text == "" {
		return 0, false
	}
	if i = slices.Index(*f, text); i < 0 {
		i = len(*f)
		*f = append(*f, text)
	}
	return i, true
}

func within(row lab.Row) string {
	switch {
	case math.IsNaN(row.Tolerance):
		return "-"
	case row.Within:
		return "yes"
	}
	return "NO"
}

// decimal formats a number with four digits, and NaN as "-".
func decimal(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case x == 0:
		return "0"
	case math.IsInf(x, 0):
		return "any"
	case x == math.Trunc(x) && a < 1e7:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 1e5 || a < 1e-3:
		return strconv.FormatFloat(x, 'e', 3, 64)
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
