package page_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/page/pagetest"
)

// A user who does not administrate sees and searches neither the names of other reporters nor queue
// ids, as on the control API.
func TestUsersSeeNoNamesOfOthers(t *testing.T) {
	site := pagetest.New(t).Busy()
	user, root := signedIn(t, site, "uid:4711", desk.Origin{UID: 4711, Known: true}), signedIn(t, site, "root", pagetest.Root)
	for _, path := range []string{"/", "/campaigns", "/campaigns?q=carla", "/campaigns?only=contested", "/mail", "/mail?q=4fXk2T2972z"} {
		body := user.get(path).Body.String()
		for _, name := range []string{"bert", "carla", "dora", "emil"} {
			if strings.Contains(strings.ReplaceAll(body, `value="carla"`, ""), name) {
				t.Errorf("%s shows %s", path, name)
			}
		}
	}
	for path, want := range map[string]string{"/campaigns?q=carla": "No campaign matches", "/mail?q=4fXk2T2972z": "No mail"} {
		if !strings.Contains(user.get(path).Body.String(), want) {
			t.Errorf("a user finds %s", path)
		}
		if strings.Contains(root.get(path).Body.String(), want) {
			t.Errorf("root does not find %s", path)
		}
	}
}
