package replica

import (
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// Likeness is how much text an original and its copies share, over all messages:
// quantiles 1, 5, 25 and 50 %.
type Likeness struct {
	Kind    string     `json:"kind"`
	Copies  int        `json:"copies"`
	Measure string     `json:"measure"`
	Shares  [4]float64 `json:"p1_p5_p25_p50"`
}

// Pairs compares the normalised text of originals and copies by their 2-grams and
// 3-grams of words: how much of all they have in common (the Jaccard index), and
// how much of the original's is in the copy (containment; Broder 1997). Copies
// without text have 0.
func Pairs(c *Corpus, o Options) []Likeness {
	from, spams := c.material(), c.choose(o.Messages, o.Seed)
	var list []Likeness
	for _, k := range o.Kinds {
		var shares [4][]float64
		for _, m := range spams {
			raw, copied, ok := k.Vary(o.Seed, from, m.Mail, m.Raw)
			if !ok || k.Rebuilt() {
				continue
			}
			a, b := signature.Text(signature.Parse(raw)), signature.Text(signature.Parse(copied))
			for i, n := range []int{2, 3} {
				jaccard, containment := compare(grams(a, n), grams(b, n))
				shares[2*i], shares[2*i+1] = append(shares[2*i], jaccard), append(shares[2*i+1], containment)
			}
		}
		if o.Progress != nil {
			o.Progress(1)
		}
		if len(shares[0]) == 0 {
			continue
		}
		for i, measure := range []string{"jaccard-2", "contain-2", "jaccard-3", "contain-3"} {
			slices.Sort(shares[i])
			l := Likeness{Kind: k.Name, Copies: len(shares[i]), Measure: measure}
			for j, q := range []float64{0.01, 0.05, 0.25, 0.50} {
				l.Shares[j] = quantile(shares[i], q)
			}
			list = append(list, l)
		}
	}
	return list
}

func grams(text string, n int) map[string]bool {
	words := strings.Fields(text)
	set := map[string]bool{}
	for i := 0; i+n <= len(words); i++ {
		set[strings.Join(words[i:i+n], " ")] = true
	}
	return set
}

func compare(a, b map[string]bool) (jaccard, containment float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0
	}
	both := 0
	for g := range a {
		if b[g] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both), float64(both) / float64(len(a))
}
