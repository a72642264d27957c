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

// printTable writes the rows of one experiment: a line each, its note below, and
// at the end the reasons of the tolerances.
func printTable(w io.Writer, e lab.Experiment, rows []lab.Row) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s: %s\n(%s)\n\n", e.Name, e.Title, e.Source)
	var reasons []string
	var table bytes.Buffer
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := 0 // of the names, which stand to the left
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row.Cell))
	}
	fmt.Fprintf(t, "%-*s\tpaper\treference\tmeasured\tsd\trounds\ttolerance\t\twithin\t\n", width, "cell")
	for _, row := range rows {
		printRow(t, width, row, reason(&reasons, row.Why))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSuffix(table.Bytes(), []byte("\n")), []byte("\n"))
	for i, line := range lines {
		out.Write(bytes.Trim(line, " "))
		out.WriteByte('\n')
		if i > 0 && rows[i-1].Note != "" {
			fmt.Fprintf(&out, "      %s\n", rows[i-1].Note)
		}
	}
	for i, why := range reasons {
		fmt.Fprintf(&out, "%c: %s\n", 'a'+rune(i), why)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// reason numbers the reasons of tolerances by letters.
func reason(reasons *[]string, why string) string {
	if why == "" {
		return ""
	}
	i := slices.Index(*reasons, why)
	if i < 0 {
		i = len(*reasons)
		*reasons = append(*reasons, why)
	}
	return string('a' + rune(i))
}

func printRow(w io.Writer, width int, row lab.Row, why string) {
	within := "yes"
	switch {
	case math.IsNaN(row.Tolerance):
		within, why = "-", ""
	case !row.Within:
		within = "NO"
	}
	fmt.Fprintf(w, "%-*s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t\n", width, row.Cell, decimal(row.Paper), decimal(row.Reference),
		decimal(row.Measured), decimal(row.SD), row.Rounds, decimal(row.Tolerance), why, within)
}

// decimal writes a number with four digits, and one that is not there as "-".
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
