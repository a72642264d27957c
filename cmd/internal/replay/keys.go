package replay

import "context"

// KeyResult is what became of an archive under one federation's key. It decides
// which parts of a reported text make its sketch, and so in which of the messages
// that are like it in part they are found.
type KeyResult struct {
	Seed    uint64 `json:"seed"`
	Caught  int    `json:"caught"`
	HamHit  int    `json:"ham_hit"`
	BulkHam int    `json:"bulk_ham"`
}

// RunKeys runs an archive under several keys, those of n seeds from Options.Seed
// on. The result is that of the first one, with the sums of all in Keys, and with
// the false positives of all, each once.
func RunKeys(ctx context.Context, messages []Message, o Options, n int, judged func()) (*Result, error) {
	var result *Result
	hits := make(map[string]int) // place among the false positives, by file
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
