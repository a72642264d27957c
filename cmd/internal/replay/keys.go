package replay

import "context"

// KeyResult is the result of an archive for one federation key. The key selects the parts
// of a reported text for its sketch, and thereby in which partly similar messages they are
// found.
type KeyResult struct {
	Seed    uint64 `json:"seed"`
	Caught  int    `json:"caught"`
	HamHit  int    `json:"ham_hit"`
	BulkHam int    `json:"bulk_ham"`
}

// RunKeys runs an archive with the keys of n seeds from Options.Seed on. It returns the
// result of the first, with the sums of all in Keys, and with the distinct false positives
// of all.
func RunKeys(ctx context.Context, messages []Message, o Options, n int, judged func()) (*Result, error) {
	var result *Result
	hits := make(map[string]int) // index in the false positives, by file
	for i := range n {
		r, err := Run(ctx, messages, o, judged)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			result = r
		}
		result.Keys = append(result.Keys, KeyResult{o.Seed, r.Caught, r.HamHit, r.BulkHam})
		for _, fp := range r.FalsePositives {
			at, known := hits[fp.File]
			if !known {
				at = len(hits)
				hits[fp.File] = at
			}
			if at == len(result.FalsePositives) {
				result.FalsePositives = append(result.FalsePositives, fp)
			}
			result.FalsePositives[at].Keys++
		}
		o.Seed++
	}
	return result, nil
}
