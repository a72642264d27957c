package bloomdb

import "testing"

func TestCorroboration(t *testing.T) {
	stands, revoked := Match{}, Match{Revoked: true}
	for _, c := range []struct {
		name   string
		domain Match
		weak   []Match
		want   bool
	}{
		{"both stand", stands, []Match{stands}, true},
		{"a domain alone", stands, nil, false},
		{"the domain was revoked", revoked, []Match{stands}, false},
		{"the sketch was revoked", stands, []Match{revoked}, false},
	} {
		if got := corroborates(c.domain, c.weak); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
