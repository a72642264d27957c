package streams

import "testing"

func FuzzPosition(f *testing.F) {
	f.Fuzz(func(t *testing.T, id string) {
		p, err := parsePosition(id)
		if err == nil && p.String() != id { // an accepted text has only one encoding
			t.Fatalf("%q is also %q", id, p)
		}
		if err != nil && p != (Position{}) {
			t.Fatal("an error and a result")
		}
	})
}

func TestPosition(t *testing.T) {
	order := []Position{{}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}}
	for i, p := range order {
		for j, q := range order {
			if p.After(q) != (i > j) {
				t.Errorf("%v after %v: %v", p, q, p.After(q))
			}
			if got := Later(p, q); got != order[max(i, j)] {
				t.Errorf("the later one of %v and %v: %v", p, q, got)
			}
		}
		if got, err := parsePosition(p.String()); got != p || err != nil {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	for _, id := range []string{"", "1", "1-", "-1", "01-1", "1-+1", "1-1-1", " 1-1", "1-18446744073709551616"} {
		if p, err := parsePosition(id); err == nil {
			t.Errorf("%q became %v", id, p)
		}
	}
	for _, test := range []struct {
		at, head Position
		want     uint64
	}{
		{Position{1, 5}, Position{1, 5}, 0},
		{Position{1, 5}, Position{1, 9}, 4},
		{Position{1, 5}, Position{1, 2}, 0},
		{Position{1, 5}, Position{3, 2}, 2},
	} {
		if got := test.at.Lag(test.head); got != test.want {
			t.Errorf("lag of %v behind %v: %d", test.at, test.head, got)
		}
	}
}
