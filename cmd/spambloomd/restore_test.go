package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/backup"
)

// backupOf returns a backup of a small site, with its keys.
func backupOf(t *testing.T) []byte {
	t.Helper()
	s := damagedSettings(filepath.Join(testenv.Dir(t), "state"))
	damagedLife(t, s)
	st, err := state.Open(s, slog.New(slog.DiscardHandler))
	testenv.Check(t, err)
	defer st.Close()
	var out bytes.Buffer
	testenv.Check(t, backup.Write(&out, st.DB, st.Reports, backup.Options{Program: "1", Folder: s.Data, Keys: s.KeyFiles()}))
	return out.Bytes()
}

// The daemon rejects an invalid backup, with an exit code for each cause and a hint.
func TestRestoreRefused(t *testing.T) {
	data := backupOf(t)
	dir := testenv.Dir(t)
	write := func(name string, data []byte) string { return harness.Write(t, filepath.Join(dir, name), string(data)) }
	whole, cut := write("whole.tar", data), write("cut.tar", data[:len(data)/2])
	flipped := bytes.Clone(data)
	flipped[len(data)/2] ^= 1
	fresh := func(files ...string) string {
		state := filepath.Join(testenv.Dir(t), "state")
		for _, name := range files {
			testenv.Check(t, os.MkdirAll(filepath.Dir(filepath.Join(state, name)), 0o700))
			harness.Write(t, filepath.Join(state, name), "x")
		}
		return state
	}
	used := fresh()
	st, err := bloomdb.Open(damagedSettings(used).DatabaseOptions([32]byte{1}, slog.New(slog.DiscardHandler)))
	testenv.Check(t, err)
	defer st.Close()
	for name, c := range map[string]struct {
		file, state string
		code        int
		says, hint  string
	}{
		"no file":         {filepath.Join(dir, "gone.tar"), fresh(), 66, "gone.tar: no such file", ""},
		"cut off":         {cut, fresh(), 65, "no whole backup: it is cut off", "nothing was restored"},
		"damaged":         {write("flipped.tar", flipped), fresh(), 65, "", "nothing was restored"},
		"another file":    {write("text", []byte(strings.Repeat("text\n", 200))), fresh(), 65, "it does not begin as one", "nothing was restored"},
		"a folder":        {dir, fresh(), 74, "is a directory", ""},
		"into a state":    {whole, fresh("reports.db"), 73, "the state folder is not empty: ", "name another folder with --data"},
		"into one in use": {whole, used, 75, "in use by another process", "stop it"},
		"into a file":     {whole, cut, 74, "not a directory", ""},
	} {
		r := start(t, "--restore", c.file, "--data", c.state)
		if r.Code != c.code || !strings.Contains(r.Stderr, c.says) || !strings.Contains(r.Stderr, c.hint) || r.Stdout != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := start(t, append([]string{"--data", fresh("restoring/identity")}, free...)...)
	if r.Code != 74 || !strings.Contains(r.Stderr, "a restore into the state folder is not finished: ") || !strings.Contains(r.Stderr, "run spambloomd --restore again") {
		t.Errorf("a start after a restore that was cut off: %+v", r)
	}
}

// A restore prints what the next start needs.
func TestRestoreSays(t *testing.T) {
	data := backupOf(t)
	dir := testenv.Dir(t)
	file := harness.Write(t, filepath.Join(dir, "site.tar"), string(data))
	config := harness.Write(t, filepath.Join(dir, "spambloom.toml"), `
[site]
name = "new"
federation_key = "`+filepath.Join(dir, "elsewhere.key")+`"
[redis]
url = "rediss://redis.example.org:6379/0"
ca = "`+filepath.Join(dir, "lost.pem")+`"
`)
	folder := filepath.Join(dir, "state")
	r := start(t, "-c", config, "--restore", file, "--data", folder)
	for _, want := range []string{
		folder + ": restored\nstate of mx1 as of ", "reporters: 1\n",
		`the state belongs to site "mx1", but the configuration names "new": start with site.name = "mx1"`,
		filepath.Join(dir, "elsewhere.key") + " is missing: copy it here before the start\n",
		filepath.Join(dir, "lost.pem") + " is missing: copy it here before the start\n",
	} {
		if r.Code != 0 || !strings.Contains(r.Stdout, want) || r.Stderr != "" {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	s := damagedSettings(folder)
	st, err := state.Open(s, slog.New(slog.DiscardHandler))
	testenv.Check(t, err)
	defer st.Close()
	for name, want := range map[string]bool{"known": true, "fresh": true, "last": true, "innocent": false} {
		if got := st.DB.Judge(letterSet(t, name)).Listed; got != want {
			t.Errorf("%s: listed %v", name, got)
		}
	}
}

// A crash interrupts a restore while the restored files are moved to their places. The start moves the
// others, so -t does not miss them.
func TestRestoreHalfMoved(t *testing.T) {
	folder := filepath.Join(testenv.Dir(t), "state")
	if _, err := backup.Restore(bytes.NewReader(backupOf(t)), folder); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, os.Mkdir(filepath.Join(folder, "restored"), 0o700))
	for _, name := range []string{"federation.key", "site.key"} {
		testenv.Check(t, os.Rename(filepath.Join(folder, name), filepath.Join(folder, "restored", name)))
	}
	if r := start(t, append([]string{"-t", "--site", "mx1", "--data", folder}, free...)...); r.Code != 0 {
		t.Errorf("-t: %+v", r)
	}
	st, err := state.Open(damagedSettings(folder), slog.New(slog.DiscardHandler))
	testenv.Check(t, err)
	defer st.Close()
	if !st.DB.Judge(letterSet(t, "known")).Listed {
		t.Error("the start has not what was restored")
	}
}
