package layout

// FullMemory returns the bytes that this site's own filters take when they are full.
func (o *Settings) FullMemory() (reports, counts int64) {
	spam, revoked, ladder, class, sketch, count := o.SpamShape(), o.RevokedShape(), o.LadderShape(), o.ClassShape(), o.SketchShape(), o.CountsShape()
	reports = spam.Bytes() + revoked.Bytes() + ladder.Bytes()
	if o.Reports.Classes {
		reports += class.Bytes()
	}
	if !o.Reports.NoSketches {
		reports += sketch.Bytes()
	}
	return reports * int64(o.Reports.Keep), int64(count.Lines) * 64 * int64(o.Counts.Keep)
}
