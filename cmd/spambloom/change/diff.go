package change

import (
	"fmt"
	"strings"
)

// around is the number of unchanged lines that a diff shows on each side of a change.
const around = 3

// maxTable bounds the table of a diff, in cells. Beyond, all lines between the first and the
// last change are shown as changed.
const maxTable = 4 << 20

// line is one line of a diff. Op is ' ', '-' or '+'.
type line struct {
	op   byte
	text string
}

// Diff returns the change in the unified format. Show may hide secrets in a line; nil shows
// all.
func (f *File) Diff(show func(string) string) string {
	if !f.IsChanged() {
		return ""
	}
	old := f.Path
	if f.IsNew {
		old = "/dev/null"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", old, f.Path)
	lines := compare(split(f.Old), split(f.New))
	for from := next(lines, 0); from < len(lines); {
		to := end(lines, from)
		first, last := max(0, from-around), min(len(lines), to+around)
		writeHunk(&b, lines, first, last, show)
		from = next(lines, last)
	}
	return b.String()
}

func split(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// next returns the index of the first changed line from i on.
func next(lines []line, i int) int {
	for i < len(lines) && lines[i].op == ' ' {
		i++
	}
	return i
}

// end returns the end of a hunk that begins with the change at i: changes with at most twice
// around lines between them belong together.
func end(lines []line, i int) int {
	to := i
	for j := i; j < len(lines) && j <= to+2*around; j++ {
		if lines[j].op != ' ' {
			to = j + 1
		}
	}
	return to
}

func writeHunk(b *strings.Builder, lines []line, first, last int, show func(string) string) {
	at := [2]int{1, 1} // line numbers, old and new
	count := func(part []line) (n [2]int) {
		for _, l := range part {
			if l.op != '+' {
				n[0]++
			}
			if l.op != '-' {
				n[1]++
			}
		}
		return n
	}
	before, in := count(lines[:first]), count(lines[first:last])
	for side := range at {
		at[side] += before[side]
		if in[side] == 0 { // diff(1) names the line before an empty range
			at[side]--
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", at[0], in[0], at[1], in[1])
	for _, l := range lines[first:last] {
		text := l.text
		if show != nil {
			text = show(text)
		}
		fmt.Fprintf(b, "%c%s\n", l.op, text)
	}
}

// compare returns the lines of both texts, by their longest common subsequence.
func compare(old, new []string) []line {
	var head, tail []line
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		head = append(head, line{' ', old[0]})
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		tail = append([]line{{' ', old[len(old)-1]}}, tail...)
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	return append(append(head, between(old, new)...), tail...)
}

// between compares texts that begin and end differently.
func between(old, new []string) (lines []line) {
	if len(old)*len(new) > maxTable {
		for _, l := range old {
			lines = append(lines, line{'-', l})
		}
		for _, l := range new {
			lines = append(lines, line{'+', l})
		}
		return lines
	}
	common := make([][]int, len(old)+1) // length of the longest one of old[i:] and new[j:]
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			lines = append(lines, line{' ', old[i]})
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, line{'-', old[i]})
			i++
		default:
			lines = append(lines, line{'+', new[j]})
			j++
		}
	}
	return lines
}
