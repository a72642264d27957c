package main

import (
	"context"
	"fmt"
	"iter"
	"testing"
)

func boxOf(n int) iter.Seq2[input, error] {
	return func(yield func(input, error) bool) {
		for i := range n {
			if !yield(input{name: fmt.Sprintf("box:%d", i+1)}, nil) {
				return
			}
		}
	}
}

// A run that is interrupted and resumed processes each message once.
func TestResumption(t *testing.T) {
	taken := map[string]int{}
	skip := 0
	for _, until := range []int{1, 4, 4, 100} {
		ctx, cancel := context.WithCancel(t.Context())
		p, n := &resumption{taken: skip}, 0
		for in := range p.remaining(ctx, after(skip, boxOf(12))) {
			taken[in.name]++
			if n++; n == until {
				cancel()
			}
		}
		cancel()
		if want := fmt.Sprintf("box:%d", skip+until+1); until < 100 && p.next != want || until == 100 && p.next != "" {
			t.Errorf("after %d of those from %d on: next is %q", until, skip, p.next)
		}
		skip = p.taken
	}
	for i := range 12 {
		if name := fmt.Sprintf("box:%d", i+1); taken[name] != 1 {
			t.Errorf("%s was taken %d times", name, taken[name])
		}
	}
}
