package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// The layout of votes stands in FORMAT.md.
const (
	ownVotesHead = 8 // stamp

	votesHead      = 8 + 8 + 8 + 2 + 2 + 8 + 1 // generation, period, m, k0, k1, inserted, coding
	votesAsBits    = 1
	votesAsCells   = 2
	maxVotesCells  = 1 << 19 // of more ones than that the bits are shorter
	maxVotesCoding = 1<<19 + 64
	maxVotesBody   = votesHead + maxVotesCoding
)

var ownVotesForm = sealedForm{fileForm: fileForm{"votes", "SBVOTE\r\n", 1}, most: ownVotesHead + maxVotesBody}

// votesBody is a filter of votes on its way.
type votesBody struct {
	gen    int64 // with which it begins
	period int64 // of generations, in seconds
	filter *filter.Generalized
}

// appendVotes codes the filter in the shorter of two ways: a site with few reports
// sends some kilobytes.
func appendVotes(dst []byte, v votesBody) []byte {
	shape := v.filter.Shape()
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.gen))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.period))
	dst = binary.BigEndian.AppendUint64(dst, shape.M)
	dst = binary.BigEndian.AppendUint16(dst, uint16(shape.K0))
	dst = binary.BigEndian.AppendUint16(dst, uint16(shape.K1))
	dst = binary.BigEndian.AppendUint64(dst, v.filter.Inserted())
	if v.filter.Ones() > maxVotesCells {
		dst, _ = v.filter.AppendBinary(append(dst, votesAsBits)) // never fails
		return dst
	}
	cells := v.filter.Cells(make([]filter.Cell, 0, v.filter.Ones()))
	return filter.AppendCells(append(dst, votesAsCells), 0, cells, false)
}

// decodeVotes reads all of what appendVotes wrote. Only the shape that all sites have
// is taken, and only bits to which reports can have led. ErrParameters.
func decodeVotes(data []byte) (v votesBody, err error) {
	if len(data) < votesHead || len(data) > maxVotesBody {
		return v, fmt.Errorf("votes of %d bytes, must be %d to %d", len(data), votesHead, maxVotesBody)
	}
	v.gen, v.period = int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint64(data[8:]))
	shape := filter.GeneralizedShape{
		M:  binary.BigEndian.Uint64(data[16:]),
		K0: int(binary.BigEndian.Uint16(data[24:])),
		K1: int(binary.BigEndian.Uint16(data[26:])),
	}
	if shape != votesShape {
		return v, fmt.Errorf("votes: %w: there %v, here %v", ErrParameters, shape, votesShape)
	}
	inserted, coding, code := binary.BigEndian.Uint64(data[28:]), data[36], data[votesHead:]
	switch coding {
	case votesAsBits:
		v.filter, err = filter.DecodeGeneralized(code, votesShape)
		if err == nil && v.filter.Inserted() != inserted {
			err = errors.New("two numbers of inserted keys")
		}
	case votesAsCells:
		v.filter, err = decodeVotesCells(code, inserted)
	default:
		err = fmt.Errorf("coding %d, which this program does not know: %w", coding, ErrNewer)
	}
	if err == nil {
		err = v.filter.Plausible()
	}
	if err != nil {
		return v, fmt.Errorf("votes: %w", err)
	}
	return v, nil
}

func decodeVotesCells(code []byte, inserted uint64) (*filter.Generalized, error) {
	claimed, _ := binary.Uvarint(code)
	if claimed > maxVotesCells {
		return nil, fmt.Errorf("%d cells, must be at most %d", claimed, maxVotesCells)
	}
	cells, rest, err := filter.DecodeCells(make([]filter.Cell, 0, claimed), code, 0, votesShape.M, false)
	if err = errors.Join(err, trailing(rest)); err != nil {
		return nil, err
	}
	return filter.GeneralizedOf(votesShape, cells, inserted)
}

// encodeOwnVotes is the file of one of this site's filters, without its checksum.
func (vs *votes) encodeOwnVotes(gen int64) ([]byte, error) {
	body, _, err := vs.own.body(gen, vs.opt.Reports.Period)
	if err != nil {
		return nil, err
	}
	vs.own.mu.Lock()
	stamp := vs.own.stamp
	vs.own.mu.Unlock()
	b := binary.BigEndian.AppendUint64(ownVotesForm.begin(vs.ring.keyID), stamp)
	return append(b, body...), nil
}

// readOwnVotes reads a file of this site's. Damage is a *DamageError.
func readOwnVotes(path string, keyID [8]byte, gen, period int64) (v votesBody, stamp uint64, err error) {
	err = ownVotesForm.load(path, func(data []byte) (err error) {
		v, stamp, err = decodeOwnVotes(data, keyID)
		if err == nil && (v.gen != gen || v.period != period) {
			err = fmt.Errorf("it begins with generation %d of %d s", v.gen, v.period)
		}
		return err
	})
	return v, stamp, err
}

// readBounded reads a file of at most so many bytes. A longer one is damage.
func readBounded(path string, most int64) ([]byte, error) {
	f, info, err := openLegible(path)
	if err != nil {
		return nil, fmt.Errorf("votes: %w", err)
	}
	defer f.Close()
	if info.Size() > most {
		return nil, damaged(path, most, fmt.Errorf("it has %d bytes, must be at most %d", info.Size(), most))
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("votes: %w", illegible(path, err))
	}
	return data, nil
}

func decodeOwnVotes(data []byte, keyID [8]byte) (v votesBody, stamp uint64, err error) {
	body, err := ownVotesForm.open(data, keyID)
	if err != nil {
		return v, 0, err
	}
	if len(body) < ownVotesHead {
		return v, 0, errors.New("file is cut short")
	}
	v, err = decodeVotes(body[ownVotesHead:])
	return v, binary.BigEndian.Uint64(body), err
}
