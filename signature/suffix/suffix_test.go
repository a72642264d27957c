package suffix

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write rules.txt from public_suffix_list.dat")

const source = "public_suffix_list.dat"

// rules reads the list: each rule in ASCII form, with its "*." or "!".
func rules(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		name, _, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if name == "" || strings.HasPrefix(name, "//") {
			continue
		}
		mark := ""
		for _, m := range []string{"!", "*."} {
			if rest, ok := strings.CutPrefix(name, m); ok {
				mark, name = m, rest
			}
		}
		ascii, err := idna.ToASCII(name)
		if err != nil || strings.ContainsAny(ascii, "*!") {
			t.Fatalf("rule %q: %v", name, err)
		}
		list = append(list, mark+ascii)
	}
	return list
}

// TestTable holds rules.txt against the list it is made from; -update makes it.
func TestTable(t *testing.T) {
	signs := make(map[string]string)
	plain := make(map[string]bool)
	for _, r := range rules(t) {
		switch {
		case strings.HasPrefix(r, "*."):
			signs[r[2:]] += string(wildcard)
		case strings.HasPrefix(r, "!"):
			signs[r[1:]] += string(exception)
		default:
			plain[r] = true
			signs[r] += ""
		}
	}
	var lines []string
	for name := range signs {
		lines = append(lines, name)
	}
	slices.Sort(lines)
	var b strings.Builder
	for _, name := range lines {
		b.WriteString(name)
		if s := signs[name]; s != "" {
			b.WriteString(" " + s)
			if plain[name] {
				b.WriteByte(plainToo)
			}
		}
		b.WriteByte('\n')
	}
	if *update {
		if err := os.WriteFile("rules.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != table {
		t.Error("rules.txt is not made from " + source + ": run go generate")
	}
}

// The test cases that the list's maintainers publish (test_psl.txt), in ASCII form,
// and those of names that the private section has.
func TestRegistrable(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"com", ""}, {"example.com", "example.com"}, {"b.example.com", "example.com"}, {"a.b.example.com", "example.com"},
		{"example", ""}, {"example.example", "example.example"}, {"b.example.example", "example.example"},
		{"biz", ""}, {"domain.biz", "domain.biz"}, {"b.domain.biz", "domain.biz"},
		{"uk.com", ""}, {"example.uk.com", "example.uk.com"}, {"a.b.example.uk.com", "example.uk.com"}, {"test.ac", "test.ac"},
		{"mm", ""}, {"c.mm", ""}, {"b.c.mm", "b.c.mm"}, {"a.b.c.mm", "b.c.mm"},
		{"jp", ""}, {"test.jp", "test.jp"}, {"www.test.jp", "test.jp"}, {"ac.jp", ""}, {"test.ac.jp", "test.ac.jp"},
		{"kyoto.jp", ""}, {"test.kyoto.jp", "test.kyoto.jp"}, {"ide.kyoto.jp", ""}, {"b.ide.kyoto.jp", "b.ide.kyoto.jp"},
		{"c.kobe.jp", ""}, {"b.c.kobe.jp", "b.c.kobe.jp"}, {"a.b.c.kobe.jp", "b.c.kobe.jp"},
		{"city.kobe.jp", "city.kobe.jp"}, {"www.city.kobe.jp", "city.kobe.jp"},
		{"ck", ""}, {"test.ck", ""}, {"b.test.ck", "b.test.ck"}, {"a.b.test.ck", "b.test.ck"},
		{"www.ck", "www.ck"}, {"www.www.ck", "www.ck"},
		{"us", ""}, {"test.us", "test.us"}, {"ak.us", ""}, {"test.ak.us", "test.ak.us"}, {"k12.ak.us", ""}, {"www.test.k12.ak.us", "test.k12.ak.us"},
		{"xn--85x722f.com.cn", "xn--85x722f.com.cn"}, {"www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"},
		{"shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"}, {"xn--55qx5d.cn", ""}, {"xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"}, {"xn--fiqs8s", ""},
		{"blogspot.com", ""}, {"me.blogspot.com", "me.blogspot.com"}, {"a.me.github.io", "me.github.io"}, {"s3.amazonaws.com", ""},
		{"", ""},
	} {
		if got := Registrable(c.host); got != c.want {
			t.Errorf("Registrable(%q) = %q, want %q", c.host, got, c.want)
		}
	}
}

// slow is the list's algorithm as publicsuffix.org/list words it, over all rules.
func slow(host string, list []string) string {
	labels := strings.Split(host, ".")
	best, isException := 1, false
	for _, r := range list {
		pattern := strings.Split(strings.TrimPrefix(r, "!"), ".")
		if len(pattern) > len(labels) || isException {
			continue
		}
		tail := labels[len(labels)-len(pattern):]
		fits := true
		for i := range pattern {
			fits = fits && (pattern[i] == "*" || pattern[i] == tail[i])
		}
		switch {
		case fits && r[0] == '!':
			best, isException = len(pattern)-1, true
		case fits:
			best = max(best, len(pattern))
		}
	}
	if len(labels) <= best {
		return ""
	}
	return strings.Join(labels[len(labels)-best-1:], ".")
}

func TestLookupFollowsTheAlgorithm(t *testing.T) {
	list := rules(t)
	rapid.Check(t, func(t *rapid.T) {
		host := strings.TrimLeft(rapid.SampledFrom(list).Draw(t, "rule"), "!")
		host = strings.Replace(host, "*", rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "label"), 1)
		for range rapid.IntRange(0, 3).Draw(t, "labels") {
			host = rapid.SampledFrom([]string{"a", "www", "city", "co", "com"}).Draw(t, "more") + "." + host
		}
		if got, want := Registrable(host), slow(host, list); got != want {
			t.Fatalf("Registrable(%q) = %q, want %q", host, got, want)
		}
	})
}

// The rules that a later copy of the list (in golang.org/x/net) has too must read
// the same there, below the rule and two labels below it. Rules have come and gone
// since; they are few.
func TestAgainstLaterList(t *testing.T) {
	differ := 0
	list := rules(t)
	for _, r := range list {
		name := strings.TrimLeft(strings.Replace(r, "*", "xyzzy", 1), "!")
		for _, host := range []string{name, "a." + name, "b.a." + name} {
			want, err := publicsuffix.EffectiveTLDPlusOne(host)
			if err != nil {
				want = ""
			}
			if got := Registrable(host); got != want {
				differ++
				t.Logf("%s: %q here, %q in the list of %s", host, got, want, "golang.org/x/net")
				break
			}
		}
	}
	t.Logf("%d of %d rules read differently", differ, len(list))
	if differ > len(list)/10 {
		t.Errorf("%d of %d rules read differently in the later list", differ, len(list))
	}
}

func BenchmarkRegistrable(b *testing.B) {
	for b.Loop() {
		Registrable("www.example.co.uk")
	}
}

func FuzzRegistrable(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a.b", "www.ck", "com\n", "x com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if d := Registrable(host); !strings.HasSuffix(host, d) {
			t.Errorf("%q is no end of %q", d, host)
		}
		Known(host)
	})
}
