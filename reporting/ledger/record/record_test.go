package record_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

var begin = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)

// message returns the signatures of a message.
func message() []signature.Signature {
	return []signature.Signature{{Kind: signature.KindText, Digest: signature.Digest{1}}, {Kind: signature.KindBody, Digest: signature.Digest{2}}}
}

func TestRecordsRoundTrip(t *testing.T) {
	r := &record.Report{
		At: begin, Flags: record.FlagHam | record.FlagRefuted, Reporter: 77, Weight: 1234, Credit: 500, Class: 2, Origin: "unix:1000",
		Set: signature.Set{
			Signatures: message(), Domains: []string{"example.org"},
			Sketches: []signature.Sketch{{Kind: signature.KindSketch, AskOnly: true, Anchors: []signature.Feature{{Hash: 9, Pos: 3}, {Hash: 8, Pos: 70}}, Keys: []signature.Feature{{Hash: 1}}}},
		},
		Anchors: []record.Anchors{{Hashes: []uint64{5, 6}, Need: 1}},
	}
	again, err := record.DecodeReport(r.Encode())
	if err != nil || !bytes.Equal(again.Encode(), r.Encode()) || again.Set.Sketches[0].Anchors[1] != r.Set.Sketches[0].Anchors[1] {
		t.Errorf("%+v becomes %+v, %v", r, again, err)
	}
	for n := range len(r.Encode()) {
		if _, err := record.DecodeReport(r.Encode()[:n]); err == nil {
			t.Errorf("%d of %d bytes are decoded as a report", n, len(r.Encode()))
		}
	}
}

// A flipped bit in a class must not make the list of reports unreadable, and a report of nothing is damage.
func TestReportsThatNobodyMakes(t *testing.T) {
	r := &record.Report{At: begin, Class: 189, Reporter: 1, Set: signature.Set{Signatures: message()}}
	if got, err := record.DecodeReport(r.Encode()); err != nil || got.Class != 0 {
		t.Errorf("class 189: %+v, %v", got, err)
	}
	r.Set.Signatures = nil
	if got, err := record.DecodeReport(r.Encode()); !errors.Is(err, record.ErrDamaged) {
		t.Errorf("no signatures: %+v, %v", got, err)
	}
}

// FuzzRecords passes bytes to every decoder. A decoded record is encoded to the same bytes.
func FuzzRecords(f *testing.F) {
	r := &record.Report{At: begin, Reporter: 1, Weight: 1000, Origin: "trap", Set: signature.Set{Signatures: message()}}
	y := &record.Tally{Listed: true, Revoked: begin, Past: []uint64{4}, Inline: []record.Opinion{{Reporter: 1, Report: 2, At: begin, Weight: 3, Early: true}}}
	f.Add(r.Encode())
	f.Add(y.Encode())
	f.Add(y.Inline[0].Append(nil))
	f.Add((&record.Reporter{ID: 1, First: begin, Last: begin}).Encode())
	f.Add([]byte{byte(record.List), 1, 9, 2, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := record.DecodeReport(data); err == nil {
			if again, err := record.DecodeReport(r.Encode()); err != nil || !bytes.Equal(again.Encode(), r.Encode()) {
				t.Errorf("report: %v", err)
			}
		}
		if y, err := record.DecodeTally(data); err == nil {
			if again, err := record.DecodeTally(y.Encode()); err != nil || !bytes.Equal(again.Encode(), y.Encode()) {
				t.Errorf("tally: %v", err)
			}
		}
		if row, err := record.DecodeReporter("anna", data); err == nil && !bytes.Equal(row.Encode(), data) {
			t.Error("reporter")
		}
		if o, err := record.DecodeOpinion(1, data); err == nil {
			if again, err := record.DecodeOpinion(1, o.Append(nil)); err != nil || again != o {
				t.Errorf("opinion: %v", err)
			}
		}
		_, _ = record.DecodeDue(data)
	})
}
