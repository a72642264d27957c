package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// The layout of votes is described in bloomdb/FORMAT.md.
const (
	ownVotesHead = 8 // stamp

	votesHead      = 8 + 8 + 8 + 2 + 2 + 8 + 1 // generation, period, m, k0, k1, inserted, coding
	votesAsBits    = 1
	votesAsCells   = 2
	maxVotesCells  = 1 << 19 // with more ones, the bits are shorter
	maxVotesCoding = 1<<19 + 64
	maxVotesBody   = votesHead + maxVotesCoding
)

var OwnVotesForm = folder.SealedForm{FileForm: folder.FileForm{Name: "votes", Magic: "SBVOTE\r\n", Version: 1}, Most: ownVotesHead + maxVotesBody}

// VotesBody is the body of a record of votes.
type VotesBody struct {
	Gen    int64 // first generation
	Period int64 // of generations, in seconds
	Filter *generalized.Filter
}

// AppendVotes encodes the filter in the shorter of two codings: a site with few reports sends
// some kilobytes.
func AppendVotes(dst []byte, v VotesBody) []byte {
	shape := v.Filter.Shape()
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Gen))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Period))
	dst = binary.BigEndian.AppendUint64(dst, shape.M)
	dst = binary.BigEndian.AppendUint16(dst, uint16(shape.K0))
	dst = binary.BigEndian.AppendUint16(dst, uint16(shape.K1))
	dst = binary.BigEndian.AppendUint64(dst, v.Filter.Inserted())
	if v.Filter.Ones() > maxVotesCells {
		dst, _ = v.Filter.AppendBinary(append(dst, votesAsBits)) // never fails
		return dst
	}
	cells := v.Filter.Cells(make([]filter.Cell, 0, v.Filter.Ones()))
	return coded.AppendCells(append(dst, votesAsCells), 0, cells, false)
}

// DecodeVotes decodes what AppendVotes wrote. It accepts only VotesShape (else ErrParameters),
// and only filters that reports can have produced.
func DecodeVotes(data []byte) (v VotesBody, err error) {
	if len(data) < votesHead || len(data) > maxVotesBody {
		return v, fmt.Errorf("votes of %d bytes, must be %d to %d", len(data), votesHead, maxVotesBody)
	}
	v.Gen, v.Period = int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint64(data[8:]))
	shape := generalized.Shape{
		M:  binary.BigEndian.Uint64(data[16:]),
		K0: int(binary.BigEndian.Uint16(data[24:])),
		K1: int(binary.BigEndian.Uint16(data[26:])),
	}
	if shape != VotesShape {
		return v, fmt.Errorf("votes: %w: there %v, here %v", layout.ErrParameters, shape, VotesShape)
	}
	inserted, coding, code := binary.BigEndian.Uint64(data[28:]), data[36], data[votesHead:]
	switch coding {
	case votesAsBits:
		v.Filter, err = generalized.Decode(code, VotesShape)
		if err == nil && v.Filter.Inserted() != inserted {
			err = errors.New("numbers of inserted keys differ")
		}
	case votesAsCells:
		v.Filter, err = decodeVotesCells(code, inserted)
	default:
		err = fmt.Errorf("coding %d is unknown to this program: %w", coding, layout.ErrNewer)
	}
	if err == nil {
		err = v.Filter.Plausible()
	}
	if err != nil {
		return v, fmt.Errorf("votes: %w", err)
	}
	return v, nil
}

func decodeVotesCells(code []byte, inserted uint64) (*generalized.Filter, error) {
	claimed, _ := binary.Uvarint(code)
	if claimed > maxVotesCells {
		return nil, fmt.Errorf("%d cells, must be at most %d", claimed, maxVotesCells)
	}
	cells, rest, err := coded.DecodeCells(make([]filter.Cell, 0, claimed), code, 0, VotesShape.M, false)
	if err = errors.Join(err, folder.Trailing(rest)); err != nil {
		return nil, err
	}
	return generalized.Of(VotesShape, cells, inserted)
}

// ReadOwnVotes reads a file with this site's own votes. Damage is a *DamageError.
func ReadOwnVotes(path string, keyID [8]byte, gen, period int64) (v VotesBody, stamp uint64, err error) {
	err = OwnVotesForm.Load(path, func(data []byte) (err error) {
		v, stamp, err = decodeOwnVotes(data, keyID)
		if err == nil && (v.Gen != gen || v.Period != period) {
			err = fmt.Errorf("votes begin with generation %d of %d s", v.Gen, v.Period)
		}
		return err
	})
	return v, stamp, err
}

func decodeOwnVotes(data []byte, keyID [8]byte) (v VotesBody, stamp uint64, err error) {
	body, err := OwnVotesForm.Open(data, keyID)
	if err != nil {
		return v, 0, err
	}
	if len(body) < ownVotesHead {
		return v, 0, errors.New("file is cut short")
	}
	v, err = DecodeVotes(body[ownVotesHead:])
	return v, binary.BigEndian.Uint64(body), err
}

// A site that is not fully trusted votes. Every site publishes its votes: a Generalized Bloom
// filter of the messages that were recently reported there. Receivers look messages up in
// each such filter separately, and never join it with another one. Votes list a message when
// enough sites vote for it (Options.Votes).
//
//	Report, Revoke -> journal -> Own -> Votes -> Redis
//	Redis -> ApplyVotes -> the votes of each site -> Judge
//
// The shape is the same at all sites and not an option. For a message that was not chosen for
// its bits, one filter gives a wrong vote with a chance of at most 2 F_p, whatever its bits:
// two keys are looked up, and F_p = 2^-16. Of v sites, q must agree. They list such a message
// with a chance of at most C(v,q) (2 F_p)^q: 4.2e-8 for ten sites and two votes (VotesError).
//
// The bound requires independent filters. Sites may conspire, so a key has different positions
// at each site: two filters with the same bits are still independent. During a key change, a
// site has a filter under each key, and the bound is 2^q times as large.
//
// No bound holds for a message that is known beforehand. A member has the federation key, and
// can make its filter vote for any mail it has a copy of. An outsider can do the same by
// reporting there. Either needs as many such members as votes are required.
//
// The filter forgets old reports. A report is lost when both its keys are: with a chance of 1 %
// after 1,750 further reports, 5 % after 4,200 and 50 % after 20,700 (FalseNegativeAfter). The
// filter is also renewed, so that no vote lasts for ever: published votes begin with the
// previous report period.
var VotesShape = generalized.Shape{M: 1 << 22, K0: 8, K1: 8}
