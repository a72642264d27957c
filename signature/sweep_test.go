package signature_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/signature"
)

var sweepFor = flag.Duration("sweep", 0, "how long TestSweep looks for cost that grows faster than a message")

// known returns each string and character that the sources below this folder name, and each
// element of HTML: what this package searches for, and so what a sender would repeat.
func known(tb testing.TB) []string {
	tb.Helper()
	all := make(map[string]bool)
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && s != "" && len(s) <= 40 && n.Kind != token.INT {
				all[s] = true
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "atom" {
				name := strings.ToLower(n.Sel.Name)
				all["<"+name+">"], all["</"+name+">"] = true, true
			}
		}
		return true
	}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			ast.Inspect(file, visit)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Sorted(maps.Keys(all))
}

// places are where a piece is repeated: what stands before and behind, and how the message
// encodes it all.
var places = map[string]struct {
	before, behind string
	encodes        bool // base64, behind the header
}{
	"subject":       {"Subject: ", "\n\nx", false},
	"encoded word":  {"Subject: =?utf-8?q?", "?=\n\nx", false},
	"sender":        {"From: ", "\n\nx", false},
	"folded":        {"Received: x\n ", "\n\nx", false},
	"type":          {"Content-Type: ", "\n\nx", false},
	"parameter":     {"Content-Type: text/plain; a=", "\n\nx", false},
	"boundary":      {"Content-Type: multipart/mixed; boundary=\"", "\"\n\n--\n\nx", false},
	"name":          {"Content-Type: application/pdf; x=y\nContent-Disposition: attachment; filename=", "\n\nx", false},
	"encoding":      {"Content-Transfer-Encoding: ", "\n\nx", false},
	"fields":        {"X: y\n", "\n\nx", false},
	"preamble":      {"Content-Type: multipart/mixed; boundary=b\n\n", "\n--b\n\nx\n--b--\n", false},
	"parts":         {"Content-Type: multipart/mixed; boundary=b\n\n--b\n", "\n--b--\n", false},
	"part":          {"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n", "\n--b--\n", false},
	"message":       {"Content-Type: message/rfc822\n\n", "", false},
	"status":        {"Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/feedback-report\n\n", "\n--b\nContent-Type: message/rfc822\n\nx: y\n\nz\n--b--\n", false},
	"calendar":      {"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\n", "\nEND:VCALENDAR\n", false},
	"property":      {"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nDESCRIPTION;", "\nEND:VCALENDAR\n", false},
	"signed":        {"Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n", "", true},
	"pdf":           {"Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n", "%PDF-1.4\n", true},
	"file":          {"Content-Type: application/octet-stream; name=a.zip\nContent-Transfer-Encoding: base64\n\n", "", true},
	"image":         {"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n", "", true},
	"unknown":       {"Content-Type: application/x-y\n\n", "", false},
	"plain":         {"\n", "", false},
	"flowed":        {"Content-Type: text/plain; format=flowed; delsp=yes\n\n", "", false},
	"quoted":        {"Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n", "", false},
	"base64":        {"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n", "", false},
	"html":          {"Content-Type: text/html\n\n", "", false},
	"attribute":     {"Content-Type: text/html\n\n<p ", ">x", false},
	"value":         {"Content-Type: text/html\n\n<p class=\"", "\">x", false},
	"style":         {"Content-Type: text/html\n\n<p style=\"", "\">x", false},
	"link":          {"Content-Type: text/html\n\n<a href=\"", "\">x", false},
	"picture":       {"Content-Type: text/html\n\n<img src=\"", "\">x", false},
	"host":          {"Content-Type: text/html\n\n<a href=\"http://", "\">x", false},
	"sheet":         {"Content-Type: text/html\n\n<style>", "</style><p class=a>x", false},
	"selector":      {"Content-Type: text/html\n\n<style>a", "{color:red}</style><p class=a>x", false},
	"value of rule": {"Content-Type: text/html\n\n<style>p{color:", "}</style><p class=a>x", false},
	"comment":       {"Content-Type: text/html\n\n<!--", "-->x", false},
	"raw text":      {"Content-Type: text/html\n\n<title>", "</title>x", false},
	"utf-7":         {"Content-Type: text/html; charset=utf-7\n\n", "", false},
	"iso-2022-jp":   {"Content-Type: text/html; charset=iso-2022-jp\n\n", "", false},
	"hz":            {"Content-Type: text/html; charset=hz-gb-2312\n\n", "", false},
}

// shapes are how a piece is repeated, the last ones with another.
var shapes = []func(piece, other string, size int) string{
	func(piece, _ string, size int) string { return strings.Repeat(piece, size/len(piece)+1) },
	func(piece, _ string, size int) string { return strings.Repeat(piece+"a ", size/(len(piece)+2)+1) },
	func(piece, _ string, size int) string { return strings.Repeat(piece+"\n", size/(len(piece)+1)+1) },
	func(piece, other string, size int) string {
		return strings.Repeat(piece+other, size/(len(piece)+len(other))+1)
	},
	func(piece, other string, size int) string {
		return strings.Repeat(piece, size/2/len(piece)+1) + strings.Repeat(other, size/2/len(other)+1)
	},
}

// Each piece that the sources know is repeated in each place, in each shape, with another
// one of chance. What costs more a byte in a message eight times as long is an error: its
// work is not linear. The time allows a part of all this, in an order of chance.
func TestSweep(t *testing.T) {
	if *sweepFor == 0 {
		t.Skip("needs -sweep with how long to look")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces, names, tried := known(t), slices.Sorted(maps.Keys(places)), 0
	all := rng.Perm(len(shapes) * len(pieces) * len(names))
	for end := time.Now().Add(*sweepFor); tried < len(all) && time.Now().Before(end); tried++ {
		i, shape := all[tried]/len(shapes), all[tried]%len(shapes)
		piece, name, other := pieces[i/len(names)], names[i%len(names)], pieces[rng.IntN(len(pieces))]
		made := func(size int) []byte { return placed(name, shapes[shape](piece, other, size)) }
		if grown, small, large := grows(made); grown {
			t.Errorf("%s, shape %d of %q and %q: %.0f ns a byte, then %.0f", name, shape, piece, other, small, large)
		}
	}
	t.Logf("%d of %d messages: %d pieces, %d places, %d shapes", tried, len(all), len(pieces), len(names), len(shapes))
}

// placed returns the message with a text in a place.
func placed(name, text string) []byte {
	p := places[name]
	if p.encodes {
		return []byte(p.before + encoded(p.behind+text))
	}
	return []byte(p.before + text + p.behind)
}

// grows measures messages of 8 and 64 kB, and if the larger seems to cost more a byte, of
// 64 and 512 kB, by the best of three, as long as they agree with that: three times.
func grows(made func(size int) []byte) (grown bool, small, large float64) {
	small, large = costOf(made(8<<10), 1), costOf(made(64<<10), 1)
	grown = large > 40 && large > 1.5*small
	for range 3 {
		if grown {
			small, large = costOf(made(64<<10), 3), costOf(made(512<<10), 3)
			grown = large > 100 && large > 2.5*small || large > 1000
		}
	}
	return grown, small, large
}

// costOf returns the CPU time in ns a byte of all that is done with a received message.
func costOf(raw []byte, times int) float64 {
	best := time.Hour
	for range times {
		before := cpu()
		m := signature.Parse(raw)
		signature.Compute(m)
		signature.Text(m)
		signature.AsFeedback(m)
		signature.EachText(m, func(string, []byte) {})
		signature.Attached(m)
		best = min(best, cpu()-before)
	}
	return float64(best) / float64(len(raw))
}
