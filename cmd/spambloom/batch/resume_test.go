package batch

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

func boxOf(n int) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for i := range n {
			if !yield(Input{Name: verb.MessageName(fmt.Sprintf("box:%d", i+1))}, nil) {
				return
			}
		}
	}
}

// A run that is interrupted and resumed processes each message once.
func TestResumption(t *testing.T) {
	taken := map[verb.MessageName]int{}
	skip := 0
	for _, until := range []int{1, 4, 4, 100} {
		ctx, cancel := context.WithCancel(t.Context())
		p, n := &Resumption{Taken: skip}, 0
		for in := range p.Remaining(ctx, After(skip, boxOf(12))) {
			taken[in.Name]++
			if n++; n == until {
				cancel()
			}
		}
		cancel()
		if want := verb.MessageName(fmt.Sprintf("box:%d", skip+until+1)); until < 100 && p.Next != want || until == 100 && p.Next != "" {
			t.Errorf("after %d of those from %d on: next is %q", until, skip, p.Next)
		}
		skip = p.Taken
	}
	for i := range 12 {
		if name := fmt.Sprintf("box:%d", i+1); taken[verb.MessageName(name)] != 1 {
			t.Errorf("%s was taken %d times", name, taken[verb.MessageName(name)])
		}
	}
}
