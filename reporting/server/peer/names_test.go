package peer

import (
	"errors"
	"os/user"
	"testing"
	"testing/synctest"
	"time"
)

// A login name is looked up once a minute. While the directory is away, the name of
// before counts; a lookup that failed is not kept.
func TestNamesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, err, asked := "anna", error(nil), 0
		n := Names{Lookup: func(string) (*user.User, error) {
			asked++
			return &user.User{Username: name}, err
		}}
		for i, step := range []struct {
			wait  time.Duration
			name  string
			err   error
			want  string
			asked int
		}{
			{0, "", errors.New("directory away"), "uid:7", 1},
			{0, "anna", nil, "anna", 2},
			{nameLife - 1, "berta", nil, "anna", 2},
			{1, "", errors.New("directory away"), "anna", 3},
			{0, "berta", nil, "berta", 4},
			{nameLife, "", user.UnknownUserIdError(7), "uid:7", 5},
		} {
			time.Sleep(step.wait)
			name, err = step.name, step.err
			if got := n.Of(7); got != step.want || asked != step.asked {
				t.Errorf("step %d: %q after %d lookups; want %q after %d", i+1, got, asked, step.want, step.asked)
			}
		}
		for uid := range 3 * maxNames {
			n.Of(uid)
		}
		if len(n.known) > maxNames {
			t.Errorf("%d names are kept, at most %d should be", len(n.known), maxNames)
		}
	})
}
