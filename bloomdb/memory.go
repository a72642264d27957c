package bloomdb

// fullMemory is what this site's own filters take when they are full. Unit: bytes.
func (o *settings) fullMemory() (reports, counts int64) {
	spam, revoked, class, sketch, count := o.spamShape(), o.revokedShape(), o.classShape(), o.sketchShape(), o.countsShape()
	reports = spam.Bytes() + revoked.Bytes()
	if o.Reports.Classes {
		reports += class.Bytes()
	}
	if !o.Reports.NoSketches {
		reports += sketch.Bytes()
	}
	return reports * int64(o.Reports.Keep), int64(count.Lines) * 64 * int64(o.Counts.Keep)
}

// MostMemory is the most that filters of these options take: this site's own, and where
// it is joined to others, their parts and the union of these. While a federation key is
// rolled over, it is twice as much. Unit: bytes.
func (o Options) MostMemory() (int64, error) {
	if err := o.complete(); err != nil {
		return 0, err
	}
	reports, counts := o.settings().fullMemory()
	most := reports + counts + int64(domainsShape().Lines)*64*int64(o.Reports.Keep)
	if o.Counts.Burst > 0 {
		most += (burstSteps+1)*burstShape(o.settings()).Bytes() + greylistShape(o.settings()).Bytes()
	}
	if o.Exchange {
		most += max(minParts, 2*(reports+counts)) + reports
	}
	if o.PreviousKey != nil {
		most *= 2
	}
	return most, nil
}
