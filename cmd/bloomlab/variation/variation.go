package variation

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// Kind is one way in which the copies of a message differ.
type Kind struct {
	Name  string
	About string // one line
	// Peer is what the best of Razor e4/e8, Pyzor, DCC's Fuz1/Fuz2 method and
	// rspamd 3.4 (default, and with its minimum lengths loosened) caught, in
	// percent: each row with the best peer of that row, measured on 200 spams of
	// the SpamAssassin corpus, varied by a generator of the same description. ""
	// where nobody was measured.
	Peer string
	Aim  float64 // percent that we want to catch; 0: a figure without an aim
	// Same is true if a reader sees the same text in the copy.
	Same bool

	base func(d *draw, m *message.Mail)      // makes the original that is reported; nil: the message as it is
	vary func(d *draw, m *message.Mail) bool // false: the message has nothing that this kind varies
}

// Material is unrelated mail from which copies are made. A kind that needs an empty list
// skips the message.
type Material struct {
	Words     []string // different ones, lower case
	Sentences []string
	Pages     []string        // innocent texts of 300 to 500 words
	Others    []*message.Mail // other spams
}

// draw is the source of a kind's random choices.
type draw struct {
	*rand.Rand
	from *Material
}

// Vary makes the original and its varied copy. raw is the message that m was
// parsed from: the original itself for most kinds. ok is false where the message
// has nothing that this kind varies. For the same seed and material the copy is
// the same.
func (k Kind) Vary(seed uint64, from *Material, m *message.Mail, raw []byte) (original, copied []byte, ok bool) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.Name + "\x00" + m.Name)) // writing to a hash cannot fail
	d := &draw{rand.New(rand.NewPCG(seed, h.Sum64())), from}
	original, c := raw, m.Clone()
	if k.base != nil {
		k.base(d, c)
		original = c.Raw()
	}
	if !k.vary(d, c) {
		return nil, nil, false
	}
	return original, c.Raw(), true
}

// one of list; list is not empty.
func one[T any](d *draw, list []T) T { return list[d.IntN(len(list))] }

// chance is true with probability p.
func (d *draw) chance(p float64) bool { return d.Float64() < p }

// token is n random letters and digits.
func (d *draw) token(n int) string {
	const signs = "abcdefghijklmnopqrstuvwxyz0123456789"
	var out strings.Builder
	for range n {
		out.WriteByte(signs[d.IntN(len(signs))])
	}
	return out.String()
}

// words are n words of the material's, or nothing where it has none.
func (d *draw) words(n int) string {
	if len(d.from.Words) == 0 {
		return ""
	}
	var list []string
	for range n {
		list = append(list, one(d, d.from.Words))
	}
	return strings.Join(list, " ")
}

var names = strings.Fields("Andrea Bernard Carla Dmitri Elena Frank Gupta Hannah Igor Julia Karim Linda Miguel Nora Oscar Paula Quentin Rosa Stefan Tamara Ursula Victor Wendy Xavier Yusuf Zoe")

// Rebuilt reports whether Vary makes its own original.
func (k Kind) Rebuilt() bool { return k.base != nil }
