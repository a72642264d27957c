package suffix

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"

	"github.com/spambloom/spambloom/cmd/testenv"
)

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
		{"", ""}, {"..", ""}, {".com", ""}, {"a..com", ""},
	} {
		if got := Registrable(c.host); got != c.want {
			t.Errorf("Registrable(%q) = %q, want %q", c.host, got, c.want)
		}
	}
}

func TestKnown(t *testing.T) {
	for host, want := range map[string]bool{
		"a.com": true, "com.": false, "a.co.uk": true, "me.github.io": true, "github.io": true,
		"mm.mm": true, "www.ck": true, "a.example": false, "setup.exe": false, "a.b.invalid": false,
	} {
		if got := Known(host); got != want {
			t.Errorf("Known(%q) = %v", host, got)
		}
	}
}

// Sites with different lists sign some links differently: a new list is a change of the
// format, which FORMAT.md dates.
func TestFormatNamesTheList(t *testing.T) {
	format, err := os.ReadFile("../FORMAT.md")
	testenv.Check(t, err)
	version, _ := publicsuffix.List.(interface{ String() string })
	day := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(version.String())
	if day == "" || !strings.Contains(string(format), "list of "+day) {
		t.Errorf("signature/FORMAT.md does not name the list in golang.org/x/net, of %s: update it, with the vectors", day)
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
