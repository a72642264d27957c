package ledger

import "fmt"

// CheckImport reads a whole export and says why Import would not take it: an error that
// wraps ErrExport, or ErrFull.
func (l *Ledger) CheckImport(o ImportOptions) error {
	expected, err := checkExport(o)
	if err != nil {
		return err
	}
	status, err := l.Status()
	if err != nil {
		return err
	}
	if status.Reports+expected.Reports > l.opt.Max || status.Reporters+expected.Reporters > maxReporters {
		return fmt.Errorf("%w: it has %d reports of %d reporters, the export %d of %d",
			ErrFull, status.Reports, status.Reporters, expected.Reports, expected.Reporters)
	}
	return nil
}

// checkExport reads a whole export and refuses what does not fit together.
func checkExport(o ImportOptions) (Exported, error) {
	r, err := o.Open()
	if err != nil {
		return Exported{}, err
	}
	_, records, err := readExport(r)
	if err != nil {
		return Exported{}, err
	}
	c := &checker{text: o.CheckText, reporters: map[uint32]bool{}}
	for rec, err := range records {
		if err == nil {
			err = c.check(rec)
		}
		if err != nil {
			return Exported{}, err
		}
	}
	return c.sum, nil
}

// checker follows the records of an export.
type checker struct {
	text      func(string) error
	reporters map[uint32]bool
	name      string // of the reporter before
	number    uint64 // of the report before
	key       Key    // of the tally before
	more      uint64 // opinions that belong to it and have not come
	phase     recordKind
	sum       Exported
}

func (c *checker) check(rec record) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", ErrExport, fmt.Errorf(format, args...))
	}
	order := map[recordKind]int{0: 0, recordReporter: 1, recordReport: 2, recordTally: 3, recordOpinion: 3, recordEnd: 4}
	if order[rec.kind] < order[c.phase] {
		return wrong("record %q after %q", rec.kind, c.phase)
	}
	c.phase = rec.kind
	if rec.kind != recordOpinion && c.more > 0 {
		return wrong("tally %x: %d opinions are missing", c.key, c.more)
	}
	switch rec.kind {
	case recordReporter:
		return c.reporter(rec.row, wrong)
	case recordReport:
		return c.report(rec, wrong)
	case recordTally:
		if c.sum.Tallies++; c.sum.Tallies > 1 && string(rec.key[:]) <= string(c.key[:]) {
			return wrong("tally %x after %x", rec.key, c.key)
		}
		c.key, c.more = rec.key, rec.tally.more
	case recordOpinion:
		if rec.key != c.key || c.more == 0 {
			return wrong("an opinion of %x that belongs to no tally", rec.key)
		}
		c.more--
	case recordEnd:
		if rec.expected != c.sum {
			return wrong("it has %+v, and should have %+v", c.sum, rec.expected)
		}
	}
	return nil
}

func (c *checker) reporter(r *row, wrong func(string, ...any) error) error {
	if c.sum.Reporters++; r.name == "" || c.sum.Reporters > 1 && r.name <= c.name {
		return wrong("reporter %q after %q", r.name, c.name)
	}
	if c.sum.Reporters > maxReporters {
		return wrong("over %d reporters", maxReporters)
	}
	if c.reporters[r.id] {
		return wrong("two reporters of number %d", r.id)
	}
	if err := c.text(r.name); err != nil {
		return wrong("%w", err)
	}
	c.name, c.reporters[r.id] = r.name, true
	return nil
}

func (c *checker) report(rec record, wrong func(string, ...any) error) error {
	if c.sum.Reports++; rec.number <= c.number {
		return wrong("report %d after %d", rec.number, c.number)
	}
	c.number = rec.number
	for _, text := range append([]string{rec.report.origin}, rec.report.set.Domains...) {
		if err := c.text(text); err != nil {
			return wrong("report %d: %w", rec.number, err)
		}
	}
	return nil
}
