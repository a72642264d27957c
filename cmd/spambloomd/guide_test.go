package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/credential"
	"github.com/spambloom/spambloom/reporting/server"
)

// The examples of the guide work: the configuration is valid, and the Redis permissions are
// those that are tested.
func TestFederationGuide(t *testing.T) {
	guide, err := os.ReadFile("../../contrib/federation.md")
	testenv.Check(t, err)
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) == 0 {
		t.Error("no configuration in the guide")
	}
	for _, b := range blocks {
		path := harness.Write(t, filepath.Join(t.TempDir(), "guide.toml"), b[1])
		if _, err := config.Load(path); err != nil {
			t.Error(err)
		}
	}
	format, err := os.ReadFile("../../bloomdb/exchange/FORMAT.md")
	testenv.Check(t, err)
	rights := regexp.MustCompile(`ACL SETUSER spambloom on >PASSWORD (.*)`).FindStringSubmatch(string(format))
	if rights == nil || !strings.Contains(harness.GuidePage(t, "redis.md"), "user spambloom on >$password "+rights[1]+"\n") {
		t.Errorf("redis.md lacks the rights %q", rights)
	}
}

// All examples for spambloom.toml are valid.
func TestGuideConfigurations(t *testing.T) {
	for _, page := range []string{"mailbox.md", "policy.md", "postfix.md"} {
		text, err := os.ReadFile(filepath.Join(harness.Repository, "contrib", page))
		testenv.Check(t, err)
		blocks := regexp.MustCompile("(?ms)^ *```toml\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			t.Errorf("no configuration in %s", page)
		}
		for _, b := range blocks {
			if _, err := config.Load(harness.Write(t, filepath.Join(t.TempDir(), page), b[1])); err != nil {
				t.Error(err)
			}
			if strings.Contains(b[1], "[control]") || strings.Contains(b[1], "whiteclnt") {
				continue // groups and files that do not exist on this machine
			}
			dir := t.TempDir()
			f := settings.Flags{Config: harness.Write(t, filepath.Join(dir, "spambloom.toml"), b[1]), Data: filepath.Join(dir, "state")}
			if _, err := settings.New(f, func(string) bool { return false }); err != nil {
				t.Error(page, err)
			}
		}
	}
}

// Clients trust the certificate made by the guide for mail stores, and its configuration is
// valid.
func TestRemoteGuide(t *testing.T) {
	dir := t.TempDir()
	here := strings.NewReplacer("/etc/spambloom", dir, "mx1.example.org", "localhost")
	set, err := config.Load(harness.Write(t, filepath.Join(dir, "guide.toml"), here.Replace(harness.PageBlock(t, "remote.md", "[control]"))))
	if err != nil || set.Control.Remote == "" {
		t.Fatal(err)
	}
	_, err = exec.LookPath("openssl")
	testenv.Need(t, err == nil, "openssl")
	here = strings.NewReplacer("/etc/spambloom", ".", "mx1.example.org", "localhost") // the folder's name may contain a blank
	openssl := exec.Command("sh", "-c", here.Replace(harness.PageBlock(t, "remote.md", "openssl ")))
	openssl.Dir = dir
	if out, err := openssl.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	token, line, err := credential.NewToken("store1")
	testenv.Check(t, err)
	harness.Write(t, set.Control.RemoteTokens, line)
	s := &settings.Settings{Config: set}
	remote, err := server.NewRemote(s.RemoteOptions(), nil)
	testenv.Check(t, err)
	ln, err := net.Listen("tcp", "localhost:0")
	testenv.Check(t, err)
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }) // reaching it is sufficient
	remoteServer, done := remote.NewServer(api), make(chan error)
	go func() { done <- remoteServer.Serve(remote.Listen(ln)) }()
	t.Cleanup(func() { remoteServer.Close(); <-done })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	store, err := client.DialRemote("https://localhost:"+port, client.Credentials{CA: set.Control.RemoteCert, Token: token})
	testenv.Check(t, err)
	store.Close()
}
