package server

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/credential"
	"github.com/spambloom/spambloom/signature"
)

// example is a command in API.md and the answer below it.
var example = regexp.MustCompile("(?s)```sh\n(.*?)```\n```json\n(.*?)```\n")

// TestAPIPage runs every command of API.md and compares the answers.
func TestAPIPage(t *testing.T) {
	testenv.Program(t, "curl")
	page, err := os.ReadFile("../API.md")
	testenv.Check(t, err)
	c, token, f := serve(t), "", (*remoteServer)(nil)
	f = serveRemote(t, func(f *remoteServer) {
		var line string
		if token, line, err = credential.NewToken("store1"); err != nil {
			t.Fatal(err)
		}
		f.tokensFile(t, line)
	})
	s := signature.Signature{Kind: signature.KindText}
	if _, err := hex.Decode(s.Digest[:], []byte("2c624232cdd221771294dfbb310aca000a0df6ac8b66b696d90ef06fdefb64a3")); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, c.db.Count(signature.Set{Signatures: []signature.Signature{s}, Counting: []signature.Signature{s}}, 3))
	examples := example.FindAllSubmatch(page, -1)
	if len(examples) != 30 {
		t.Errorf("%d examples in API.md", len(examples))
	}
	for _, e := range examples {
		cmd := exec.Command("sh", "-c", string(e[1]))
		cmd.Env = append(os.Environ(), "SOCKET="+c.socket, "REMOTE="+f.address, "TOKEN="+token, "CA="+f.ca.file)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s%v: %s", e[1], err, out)
		}
		if got, want := parseJSON(t, out), parseJSON(t, e[2]); !reflect.DeepEqual(got, want) {
			t.Errorf("%sanswers %swant %s", e[1], out, e[2])
		}
	}
}

func parseJSON(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return v
}
