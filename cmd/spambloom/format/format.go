// Package format owns how the verbs print times, sizes, numbers and tables.
package format

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Plural returns a number and its noun, such as "1 report" or "2 reports".
func Plural[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// NewTable returns a writer that aligns cells, which tabs end, when it is flushed.
func NewTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// Columns returns the output of write, aligned as a table.
func Columns(write func(table io.Writer)) string {
	var b strings.Builder
	table := NewTable(&b)
	write(table)
	table.Flush() // into b, which cannot fail
	return b.String()
}

// Instant formats a time to the minute.
func Instant(t time.Time) string { return t.UTC().Format(time.DateOnly + " 15:04 MST") }

// Minute formats a time to the minute for a column, without the zone.
func Minute(t time.Time) string { return t.UTC().Format(time.DateOnly + " 15:04") }

// HiddenReporter stands for a reporter whose name the caller may not see.
const HiddenReporter = "(another)"

// Size formats a number of bytes with a binary unit.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
