package whiteclnt

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
)

var update = flag.Bool("update", false, "rewrite the .want files")

// described returns the result of reading a file, one finding a line.
func described(rules []policy.Allow, warnings []error, err error) string {
	var b strings.Builder
	for _, r := range rules {
		for kind, values := range map[string]any{"networks": r.Networks, "senders": r.Senders, "from": r.From, "list_ids": r.ListIDs, "recipients": r.Recipients} {
			if list := strings.Fields(strings.Trim(fmt.Sprint(values), "[]")); len(list) > 0 {
				fmt.Fprintf(&b, "%s %s: %s\n", r.Name, kind, strings.Join(list, " "))
			}
		}
	}
	for _, w := range warnings {
		fmt.Fprintln(&b, "warning:", w)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintln(&b, "error:", strings.TrimSuffix(line, "\n"))
		}
	}
	return b.String()
}

// Each file below testdata must read as described in the file of its name with ".want".
func TestFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		if ext := filepath.Ext(path); ext != "" || strings.HasPrefix(path, "testdata/fuzz") {
			continue
		}
		got := described(Load(path))
		if *update {
			testenv.Check(t, os.WriteFile(path+".want", []byte(got), 0o644))
		}
		want, err := os.ReadFile(path + ".want")
		testenv.Check(t, err)
		if got != string(want) {
			t.Errorf("%s is read as\n%swant\n%s", path, got, want)
		}
		if bad := strings.HasPrefix(path, "testdata/bad"); bad != strings.Contains(got, "error:") {
			t.Errorf("%s: is an error: %v", path, !bad)
		}
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is not a file",
		"/dev/null":                "is not a file",
	} {
		if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The size and number of files are bounded, for all of them together.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("big", strings.Repeat("# comment\n", maxBytes/20+1))
	for name, test := range map[string]struct{ text, want string }{
		"one big file":   {"include big\n", ""},
		"two big files":  {"include big\ninclude big\n", ":2: include: "},
		"as many files":  {strings.Repeat("include none\n", maxFiles) + "\n", fmt.Sprintf(":%d: include: ", maxFiles)},
		"too many files": {strings.Repeat("include small\n", maxFiles+1), fmt.Sprintf(":%d: more than %d included files", maxFiles+1, maxFiles)},
	} {
		write("small", "")
		_, _, err := Load(write("first", test.text))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// A line of 15 bytes has 143 blocks: 16 MiB of them would take 5 GB. The file is refused before that.
func TestManyBlocks(t *testing.T) {
	for lines, refused := range map[int]bool{1: false, 2: false, 3: true, 1000: true} {
		r := reader{left: maxBytes, blocks: maxBlocks - 200, read: func(string, int) ([]byte, error) {
			return []byte("ok ip ::1-fffe::2\n" + strings.Repeat("\tip ::1-fffe::2\n", lines-1)), nil
		}}
		r.readAll("first", "")
		if err := errors.Join(r.wrong.list()...); (err != nil) != refused || len(r.networks) != 143*min(lines, 2) {
			t.Errorf("%d lines, %d blocks: %v", lines, len(r.networks), err)
		}
	}
}

// The blocks of a range contain its addresses, and no others.
func TestBlocks(t *testing.T) {
	addr := func(n uint32) netip.Addr {
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	for range 2000 {
		low := rand.Uint32() >> rand.IntN(32)
		high := low + rand.Uint32()>>rand.IntN(32)
		if high < low {
			high = 1<<32 - 1
		}
		list, next := blocks(addr(low), addr(high)), addr(low)
		for _, b := range list {
			if b.Addr() != next || b.Masked() != b {
				t.Fatalf("%v-%v: %v", addr(low), addr(high), list)
			}
			next = last(b).Next()
		}
		if next != addr(high).Next() || len(list) > 64 {
			t.Fatalf("%v-%v: %v", addr(low), addr(high), list)
		}
	}
}

// A list of 100,000 lines, and mail that matches it.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&text, "ok\tip\t10.%d.%d.%d\n\tenv_From\tuser%d@example.org\n\tfrom\tnews@shop%d.example\n\tsubstitute\tList-ID <%d.list.example>\n", i>>16, i>>8&255, i&255, i, i, i)
	}
	path := filepath.Join(b.TempDir(), "whiteclnt")
	testenv.Check(b, os.WriteFile(path, []byte(text.String()), 0o600))
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if rules, _, err := Load(path); err != nil || len(rules) != 4 {
			b.Fatal(len(rules), err)
		}
	}
}

// FuzzRead reads arbitrary text: reading ends, and its rules contain only valid conditions.
func FuzzRead(f *testing.F) {
	for _, path := range []string{"testdata/good/full", "testdata/good/passed", "testdata/good/counts", "testdata/good/includes", "testdata/bad/lines", "testdata/bad/more"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := reader{left: maxBytes, read: func(path string, limit int) ([]byte, error) {
			if path == "none" || len(text) > limit {
				return nil, errors.New("no such file")
			}
			return []byte(text), nil
		}}
		r.readAll("first", "")
		for _, rule := range r.rules() {
			if rule.Name != Name {
				t.Errorf("%+v", rule)
			}
			for _, list := range [][]string{rule.Senders, rule.From, rule.Recipients} {
				for _, pattern := range list {
					if form, err := policy.ParsePattern(pattern); err != nil || form != pattern {
						t.Errorf("%q: %q, %v", pattern, form, err)
					}
				}
			}
			for _, p := range rule.Networks {
				if !p.IsValid() || p.Bits() == 0 || p != p.Masked() {
					t.Errorf("network %v", p)
				}
			}
		}
		if len(r.wrong.list()) > maxNamed+1 || len(r.passed.list()) > maxNamed+1 {
			t.Errorf("%d errors, %d warnings", len(r.wrong.list()), len(r.passed.list()))
		}
	})
}
