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

// The layout of votes stands in bloomdb/FORMAT.md.
const (
	ownVotesHead = 8 // stamp

	votesHead      = 8 + 8 + 8 + 2 + 2 + 8 + 1 // generation, period, m, k0, k1, inserted, coding
	votesAsBits    = 1
	votesAsCells   = 2
	maxVotesCells  = 1 << 19 // of more ones than that the bits are shorter
	maxVotesCoding = 1<<19 + 64
	maxVotesBody   = votesHead + maxVotesCoding
)

var OwnVotesForm = folder.SealedForm{FileForm: folder.FileForm{Name: "votes", Magic: "SBVOTE\r\n", Version: 1}, Most: ownVotesHead + maxVotesBody}

// VotesBody is a filter of votes on its way.
type VotesBody struct {
	Gen    int64 // with which it begins
	Period int64 // of generations, in seconds
	Filter *generalized.Filter
}

// AppendVotes codes the filter in the shorter of two ways: a site with few reports
// sends some kilobytes.
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

// DecodeVotes reads all of what AppendVotes wrote. Only the shape that all sites have
// is taken, and only bits to which reports can have led. ErrParameters.
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
			err = errors.New("two numbers of inserted keys")
		}
	case votesAsCells:
		v.Filter, err = decodeVotesCells(code, inserted)
	default:
		err = fmt.Errorf("coding %d, which this program does not know: %w", coding, layout.ErrNewer)
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

// ReadOwnVotes reads a file of this site's. Damage is a *DamageError.
func ReadOwnVotes(path string, keyID [8]byte, gen, period int64) (v VotesBody, stamp uint64, err error) {
	err = OwnVotesForm.Load(path, func(data []byte) (err error) {
		v, stamp, err = decodeOwnVotes(data, keyID)
		if err == nil && (v.Gen != gen || v.Period != period) {
			err = fmt.Errorf("it begins with generation %d of %d s", v.Gen, v.Period)
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

// A site that is not trusted in full is heard by its votes: a Generalized Bloom
// filter of the messages that were reported there lately, which every site
// publishes. It is asked as it came, for itself, and joined with nothing. A message
// is listed by votes when enough sites vote for it (Options.Votes).
//
//	Report, Revoke -> journal -> Own -> Votes -> Redis
//	Redis -> HearVotes -> a voter -> Judge
//
// The shape is the same everywhere, and no option. One filter finds a message that
// was not chosen for its bits with the chance 2 F_p at most, whatever the bits: two
// keys are asked, and F_p = 2^-16. So v voters list such a message with the chance
// C(v,q) (2 F_p)^q at most, where q must agree: 4.2e-8 of 10 voters and two
// (VotesError). That needs voters that know nothing of each other. They may well
// conspire, so that a key has other positions at each site: who fills two sites'
// filters with the same bits has two independent ones. While the federation key is
// rolled over, a site has a filter under each key, and the bound is 2^q times as large.
//
// What no bound holds for is a message that is known beforehand: a member has the
// federation key, and can make its filter vote for whatever mail it has a copy of.
// So can an outsider by reports there. That takes as many such members as votes are
// needed.
//
// The filter forgets what is old. A report is lost with the chance 1 % when 1,750
// others have followed, 5 % after 4,200, half after 20,700: both its keys must be
// (FalseNegativeAfter). It also begins anew, so that no vote lives for ever: what is
// published goes back to the begin of the period of reports before this one, and no
// further.
var VotesShape = generalized.Shape{M: 1 << 22, K0: 8, K1: 8}
