//go:build packages

package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// go install works with the module as a proxy serves it: no replaced module, and no name of a
// file that a module must not contain. The version is that of the module.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	testenv.Servers(t)
	const module, version = "github.com/spambloom/spambloom", "v0.1.0-rc.1"
	dir := testenv.Dir(t)
	served := filepath.Join(dir, "proxy", module, "@v")
	run(t, "", "mkdir", "-p", served)
	gomod, err := os.ReadFile(filepath.Join(harness.Repository, "go.mod"))
	testenv.Check(t, err)
	harness.Write(t, filepath.Join(served, version+".mod"), string(gomod))
	harness.Write(t, filepath.Join(served, "list"), version+"\n")
	harness.Write(t, filepath.Join(served, version+".info"), fmt.Sprintf(`{"Version":%q}`, version))
	// The sources as they are now, without what git ignores.
	run(t, harness.Repository, "sh", "-c", `tree=$(GIT_INDEX_FILE=$0 sh -c 'git add -A && git write-tree') &&
		git archive --format=zip --prefix="$1@$2/" -o "$3" "$tree"`,
		filepath.Join(dir, "index"), module, version, filepath.Join(served, version+".zip"))

	var env struct{ GOMODCACHE string }
	testenv.Check(t, json.Unmarshal([]byte(run(t, harness.Repository, "go", "env", "-json", "GOMODCACHE")), &env))
	// -trimpath finds the libraries compiled before; what was downloaded is the proxy for them.
	install := exec.CommandContext(t.Context(), "go", "install", module+"/cmd/spambloom@"+version)
	install.Dir = dir
	install.Env = append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"), "GOMODCACHE="+filepath.Join(dir, "cache"), "CGO_ENABLED=0",
		"GOPROXY=file://"+filepath.Join(dir, "proxy")+",file://"+filepath.Join(env.GOMODCACHE, "cache", "download"),
		"GOFLAGS=-trimpath -modcacherw", "GONOSUMDB=*", "GOTOOLCHAIN=local")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", install, err, out)
	}
	if got := run(t, "", filepath.Join(dir, "bin", "spambloom"), "version"); !strings.HasPrefix(got, "spambloom "+version+" ") {
		t.Errorf("version %q", got)
	}
}
