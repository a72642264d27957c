package buckets_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// records returns a few records of each bucket.
func records() map[string][]buckets.Pair {
	begin := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	s := signature.Signature{Kind: signature.KindText, Digest: signature.Digest{1, 2, 3}}
	key, number := record.SignatureKey(s), buckets.NewNumber(7)
	opinion := record.Opinion{Reporter: 1, Report: 7, At: begin, Weight: 1000}
	report := &record.Report{At: begin, Reporter: 1, Weight: 1000, Origin: "unix:1000", Set: signature.Set{Signatures: []signature.Signature{s}}}
	tally := &record.Tally{Sums: [2]record.Weight{1000, 0}, Listed: true, Inline: []record.Opinion{opinion}}
	due := record.Due{Action: record.List, Report: 7, Parts: record.Reached{Signatures: []bool{true}}}
	return map[string][]buckets.Pair{
		"reports":   {{Key: number[:], Value: report.Encode()}},
		"tallies":   {{Key: key[:], Value: tally.Encode()}},
		"opinions":  {{Key: record.OpinionKey(key, 1), Value: opinion.Append(nil)}},
		"reporters": {{Key: []byte("anna"), Value: (&record.Reporter{ID: 1, First: begin, Last: begin}).Encode()}},
		"due":       {{Key: number[:], Value: due.Encode()}},
		"shares": {{Key: record.Party{Kind: record.PartyReporter, Name: "anna"}.Key(), Value: (&record.Share{Period: begin, Kept: 1}).Encode()},
			{Key: record.Party{Kind: record.PartyWay, Name: "anna", Way: "tcp:store"}.Key(), Value: (&record.Share{Kept: 1}).Encode()}},
		"by":      {{Key: buckets.ByKey(1, 7)}},
		"names":   {{Key: []byte{0, 0, 0, 1}, Value: []byte("anna")}},
		"actions": {{Key: number[:], Value: record.Act{At: begin, What: "never", By: "anna", Origin: "unix:1000", IDs: []string{s.ID()}}.Encode()}},
		"meta":    {{Key: buckets.KeyVersion, Value: buckets.VersionValue(buckets.Version)}, {Key: buckets.CountReports, Value: make([]byte, 8)}},
	}
}

// Records without a bucket are assigned to the bucket that they came from, and do not fit any
// other bucket as well.
func TestOf(t *testing.T) {
	all := records()
	if len(all) != len(buckets.All) {
		t.Errorf("records of %d buckets, want %d", len(all), len(buckets.All))
	}
	for name, list := range all {
		if got := buckets.Of(list); got != name {
			t.Errorf("records of %s are assigned to %q", name, got)
		}
		if n := buckets.Fitting(name, list); n != len(list) {
			t.Errorf("%d of %d records fit %s", n, len(list), name)
		}
	}
	if got := buckets.Of([]buckets.Pair{{Key: []byte("key"), Value: nil}}); got != "" {
		t.Errorf("a record that fits no bucket is assigned to %q", got)
	}
}

// One damaged byte in the name of a bucket is accepted, two are not.
func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"reports": "reports", "reportz": "reports", "shazes": "shares", "rep\x00rts": "reports", "reporzz": "", "report": "", "": ""} {
		if got, ok := buckets.Nearest(name); got != want || ok != (want != "") {
			t.Errorf("%q is read as %q, want %q", name, got, want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, c := range []struct {
		value []byte
		want  error
	}{
		{buckets.VersionValue(buckets.Version), nil},
		{buckets.VersionValue(buckets.Version + 1), record.ErrVersion},
		{buckets.VersionValue(0), record.ErrDamaged},
		{[]byte{buckets.Version, 0}, record.ErrDamaged},
		{nil, record.ErrDamaged},
	} {
		if err := buckets.CheckVersion(c.value); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.value, err, c.want)
		}
	}
}
