package verdict

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/signature"
)

// compared is what `explain --json A B` prints.
type compared struct {
	Files    [2]string       `json:"files"`
	Matches  bool            `json:"matches"` // a report of either lists the other
	Text     replay.Likeness `json:"text"`
	Domains  []string        `json:"domains"`
	Reported [2]direction    `json:"reported"` // of the first file, of the second
	Texts    []string        `json:"texts,omitempty"`
}

// direction is the effect of a report of one message on the other.
type direction struct {
	File       verb.MessageName `json:"file"`
	Lists      verb.MessageName `json:"lists"` // the other file
	Listed     bool             `json:"listed"`
	Because    string           `json:"because"`
	Signatures []string         `json:"signatures"` // common to both
	Sketches   []sketchOverlap  `json:"sketches"`
}

// sketchOverlap is the JSON form of a replay.Overlap.
type sketchOverlap struct {
	Kind      string  `json:"kind"`
	Found     int     `json:"found"`
	Of        int     `json:"of"`
	Need      int     `json:"need"`
	Matches   int     `json:"matches"`
	Weak      int     `json:"weak"`
	Tried     int     `json:"tried"`
	Contained float64 `json:"contained"`
}

// compareFiles compares two messages without a daemon.
func compareFiles(c *verb.CLI, names []string, asJSON, withText bool) error {
	var sets [2]signature.Set
	var texts [2]string
	for i, name := range names {
		in, err := single(c, name)
		if err != nil {
			return err
		}
		sets[i], texts[i] = signature.Compute(in.Message), signature.Text(in.Message)
	}
	x := newCompared([2]string(names), sets, texts)
	if withText {
		x.Texts = texts[:]
	}
	return c.PrintEither(asJSON, x, comparedText(x))
}

var errSeveral = errors.New("has more than one message, want one to compare")

// single reads a file that must have one message.
func single(c *verb.CLI, name string) (one batch.Input, err error) {
	n := 0
	for in, err := range batch.Inputs(c, []string{name}) {
		if n++; n > 1 {
			return one, &verb.InputError{Err: fmt.Errorf("%s %w", name, errSeveral)}
		}
		if err != nil {
			return one, err
		}
		one = in
	}
	return one, nil
}

func newCompared(names [2]string, sets [2]signature.Set, texts [2]string) compared {
	x := compared{Files: names, Text: replay.Texts(texts[0], texts[1]), Domains: []string{}}
	for i := range x.Reported {
		reported, asked := sets[i], sets[1-i]
		match := replay.Compare(reported, asked)
		d := direction{File: verb.MessageName(names[i]), Lists: verb.MessageName(names[1-i]), Signatures: []string{}, Sketches: []sketchOverlap{}}
		d.Listed, d.Because = conclude(match, reported, asked)
		for _, s := range match.Equal {
			d.Signatures = append(d.Signatures, s.ID())
		}
		for _, o := range match.Sketch {
			d.Sketches = append(d.Sketches, sketchOverlap{o.Kind.String(), o.Found, o.Of, o.Need, o.Matches, o.Weak, replay.KeysTried, o.Contained})
		}
		x.Domains = append(x.Domains[:0], match.Domains...)
		x.Matches = x.Matches || d.Listed
		x.Reported[i] = d
	}
	return x
}

// conclude reports whether a report of one message lists the other, and why.
func conclude(match replay.Comparison, reported, asked signature.Set) (listed bool, because string) {
	var reasons, rest []string
	for _, s := range match.Equal {
		reasons = append(reasons, s.Kind.String()+" is equal")
	}
	for _, o := range match.Sketch {
		text := fmt.Sprintf("%s %s", o.Kind, overlapText(o))
		switch {
		case o.Listed():
			reasons = append(reasons, text)
		case o.ListedWeakly() && len(match.Domains) > 0:
			rest = append(rest, text+", which suffices with a link to "+match.Domains[0]+", unless that is a large sender's domain")
		default:
			rest = append(rest, text)
		}
	}
	switch {
	case len(reasons) > 0:
		return true, strings.Join(reasons, ", ")
	case len(reported.Signatures) == 0:
		return false, "the reported one has too little content to report"
	case len(asked.Signatures) == 0:
		return false, "the other has too little content to sign"
	case len(match.Sketch) == 0:
		return false, strings.Join(append([]string{"no signature is equal"}, unsketched(reported, asked)...), "; ")
	}
	return false, "no signature is equal; " + strings.Join(rest, ", ")
}

// unsketched names the message that has no sketch the other could match.
func unsketched(reported, asked signature.Set) []string {
	switch {
	case len(reported.Sketches) == 0 && len(asked.Sketches) == 0:
		return []string{"neither has enough text for a sketch"}
	case len(reported.Sketches) == 0:
		return []string{"the reported one has too little text of its own for a sketch"}
	case len(asked.Sketches) == 0:
		return []string{"the other has too little text of its own for a sketch"}
	}
	return []string{"their sketches are of different kinds"}
}

// overlapText describes how much of a reported sketch the other message has.
func overlapText(o replay.Overlap) string {
	text := "has no anchor in common"
	if o.Of > 0 {
		text = fmt.Sprintf("has %d of %d keys (needs %d)", o.Found, o.Of, o.Need)
	}
	if o.Matches > 0 && o.Matches < replay.KeysTried {
		text += fmt.Sprintf(", a match in %d of %d federations", o.Matches, replay.KeysTried)
	}
	return text
}

// ordinals name the two messages where their file names would be too long.
var ordinals = [2]string{"first", "second"}

// comparedText formats a comparison for a terminal.
func comparedText(x compared) string {
	var b strings.Builder
	for _, d := range x.Reported {
		verdict := "no"
		if d.Listed {
			verdict = "yes"
		}
		fmt.Fprintf(&b, "would a report of %s list %s? %s: %s\n", d.File, d.Lists, verdict, d.Because)
	}
	table := format.NewTable(&b)
	for _, id := range x.Reported[0].Signatures {
		fmt.Fprintf(table, "  both have\t%s\n", id)
	}
	for i, ordinal := range ordinals {
		for _, s := range x.Reported[i].Sketches {
			fmt.Fprintf(table, "  %s of the %s\t%.0f %% of its features are in the other\n", s.Kind, ordinal, 100*s.Contained)
		}
	}
	fmt.Fprintf(table, "  texts\t%.0f %% in common: %.0f %% of the first, %.0f %% of the second\n",
		100*x.Text.Jaccard, 100*x.Text.AInB, 100*x.Text.BInA)
	for _, domain := range x.Domains {
		fmt.Fprintf(table, "  both link to\t%s\n", domain)
	}
	for i, text := range x.Texts {
		fmt.Fprintf(table, "  text of the %s\t%s\n", ordinals[i], text)
	}
	table.Flush() // into b, which cannot fail
	return b.String()
}
