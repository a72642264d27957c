package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

func boolByte(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// Due is a decision that is not settled: an action for parts of a report's message.
type Due struct {
	Action Action
	Report uint64
	Parts  Reached
}

// Encode returns the form of the decision in the file.
func (d Due) Encode() []byte {
	b := binary.AppendUvarint([]byte{byte(d.Action), boolByte(d.Parts.text)}, d.Report)
	for _, list := range [][]bool{d.Parts.Signatures, d.Parts.Sketches} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, on := range list {
			b = append(b, boolByte(on))
		}
	}
	return b
}

// DecodeDue reads a decision.
func DecodeDue(data []byte) (r Due, err error) {
	d := &decoder{b: data}
	r.Action, r.Parts.text = Action(d.byte()), d.byte() == 1
	r.Report = d.number(math.MaxUint64)
	for range d.number(maxSignatures) {
		r.Parts.Signatures = append(r.Parts.Signatures, d.byte() == 1)
	}
	for range d.number(maxSketches) {
		r.Parts.Sketches = append(r.Parts.Sketches, d.byte() == 1)
	}
	if d.bad || len(d.b) > 0 || r.Action != List && r.Action != Revoke {
		return r, fmt.Errorf("decision: %w: %d bytes", ErrDamaged, len(data))
	}
	return r, nil
}
