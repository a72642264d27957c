package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

const module = "github.com/spambloom/spambloom/"

// repository is the root of the source tree.
var repository = os.DirFS("../../..")

// reserved imports are allowed only in the listed packages.
var reserved = map[string][]string{
	"github.com/emersion/go-milter":  {"milter", "milter/protocol", "milter/header"},
	"github.com/emersion/go-message": {"signature/mail"},
	"github.com/redis/go-redis/v9":   {"bloomdb/exchange/redisclient", "bloomdb/exchange/streams", "bloomdb/exchange/presence", "cmd/spambloom/doctor", "cmd/spambloomd"},
	"github.com/BurntSushi/toml":     {"cmd/internal/config"},
	"github.com/minio/sha256-simd":   {"signature/digest"},
	"github.com/wlynxg/chardet":      {"signature/mail"},
	"go.etcd.io/bbolt":               {"reporting/ledger", "reporting/ledger/buckets", "reporting/ledger/salvage", "reporting/ledger/store", "reporting/ledger/rows"},
	"gonum.org/v1/plot":              {"cmd/bloomlab/draw"},

	"github.com/RoaringBitmap/roaring/v2/roaring64": {"cmd/bloomlab/delta"},
	"github.com/klauspost/compress/zstd":            {"cmd/bloomlab/delta"},

	"crypto/md5":    {},
	"crypto/sha1":   {},
	"crypto/sha256": {},
	"crypto/sha512": {},
	"unsafe":        {"bloomdb/filter", "reporting/server/peer"},
	"flag":          {"cmd/spambloomd/e2e/harness", "cmd/testenv"},
	"github.com/prometheus/client_golang/prometheus/promauto": {},
}

// forbidden imports, by package: the database does not use the network.
var forbidden = map[string][]string{
	"bloomdb":        {"net", "net/http", "os/exec"},
	"bloomdb/filter": {"net", "net/http", "os", "os/exec"},

	"bloomdb/filter/coded":       {"net", "net/http", "os", "os/exec"},
	"bloomdb/filter/generalized": {"net", "net/http", "os", "os/exec"},
	"bloomdb/filter/iterative":   {"net", "net/http", "os", "os/exec"},
}

// impure imports are forbidden in signature and all packages below it: the same message has
// the same signatures everywhere.
var impure = []string{"net", "net/http", "os", "os/exec", "time", "log/slog"}

// commandsOnly are calls that affect the whole process.
var commandsOnly = []string{
	"os.Exit", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Args",
	"slog.SetDefault", "signal.Notify", "signal.NotifyContext",
	"prometheus.MustRegister", "prometheus.Register", "redis.SetLogger",
}

// topLevel lists all entries at the top, besides files that begin with a dot.
var topLevel = []string{
	"cmd", "milter", "signature", "bloomdb", "reporting", "contrib",
	"docker-compose.yml", "go.mod", "go.sum", "README.md",
	"Makefile", "LICENSE", "CHANGELOG.md", "Dockerfile",
}

// made are folders with foreign sources, or none.
var made = []string{"bin", "spambloom-data"}

// eachFile parses every Go source of the module.
func eachFile(t *testing.T, mode parser.Mode, visit func(name string, src []byte, file *ast.File)) {
	t.Helper()
	files := 0
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || slices.Contains(made, name) || len(name) > 1 && name[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, mode|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		visit(name, src, file)
		return nil
	})
	testenv.Check(t, err)
	if files < 10 {
		t.Fatalf("only %d Go files found: not the repository?", files)
	}
}

func TestImports(t *testing.T) {
	eachFile(t, parser.ImportsOnly, func(name string, _ []byte, file *ast.File) {
		pkg := path.Dir(name)
		edges, ok := allowed[pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of layers", name, pkg)
		}
		test := strings.HasSuffix(name, "_test.go")
		if test {
			edges = append(slices.Clip(edges), append(inTests[pkg], pkg, "cmd/testenv")...)
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(edges, ours) {
				t.Errorf("%s: %s must not import %s", name, pkg, ours)
			}
			if !test {
				checkForeign(t, name, pkg, imported)
			}
		}
	})
}

func checkForeign(t *testing.T, name, pkg, imported string) {
	for lib, owners := range reserved {
		if (imported == lib || strings.HasPrefix(imported, lib+"/")) && !slices.Contains(owners, pkg) {
			t.Errorf("%s: %s must not import %s: it belongs to %v", name, pkg, imported, owners)
		}
	}
	isPure := pkg == "signature" || strings.HasPrefix(pkg, "signature/")
	if imported == "log" || slices.Contains(forbidden[pkg], imported) || isPure && slices.Contains(impure, imported) {
		t.Errorf("%s: %s must not import %s", name, pkg, imported)
	}
}

// Digests are made in one file, so that only that file depends on the library.
func TestDigestsInOneFile(t *testing.T) {
	seen := false
	eachFile(t, parser.ImportsOnly, func(name string, src []byte, _ *ast.File) {
		if strings.HasSuffix(name, "_test.go") || !bytes.Contains(src, []byte(`"github.com/minio/sha256-simd"`)) {
			return
		}
		seen = seen || name == "signature/digest/digest.go"
		if name != "signature/digest/digest.go" {
			t.Errorf("%s: digests are made in signature/digest/digest.go", name)
		}
	})
	if !seen {
		t.Error("signature/digest/digest.go does not use minio/sha256-simd")
	}
}

// Libraries never exit, read flags or the environment, or run code at initialisation.
func TestLibrariesDecideNothing(t *testing.T) {
	eachFile(t, 0, func(name string, _ []byte, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: func init", name)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && !strings.HasPrefix(name, "cmd/") && slices.Contains(commandsOnly, x.Name+"."+n.Sel.Name) {
					t.Errorf("%s: %s.%s is for commands", name, x.Name, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// Loops wait for a context or a timer; they never sleep uninterruptibly.
func TestNobodySleeps(t *testing.T) {
	eachFile(t, 0, func(name string, src []byte, _ *ast.File) {
		if !strings.HasSuffix(name, "_test.go") && bytes.Contains(src, []byte("time.Sleep(")) {
			t.Errorf("%s: time.Sleep", name)
		}
	})
}

func TestFileLength(t *testing.T) {
	eachFile(t, parser.PackageClauseOnly, func(name string, src []byte, _ *ast.File) {
		if n := bytes.Count(src, []byte("\n")); n > 500 {
			t.Errorf("%s: %d lines, at most 500", name, n)
		}
	})
}

// files returns the files of the repository. Those unknown to git, such as those of a profile,
// are none.
func files(t *testing.T) []string {
	t.Helper()
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = "../../.."
	out, err := git.Output()
	testenv.Need(t, err == nil, "git, and a repository of it")
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// unserved matches paths that no proxy serves as part of a module, because Windows has no such
// files: go install would fail.
var unserved = regexp.MustCompile(`(?i)(^|/)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.[^/]*)?(/|$)|[^/]\.(/|$)|["*<>?\\:|'` + "`" + `;]`)

func TestEveryFileCanBeServed(t *testing.T) {
	for _, name := range files(t) {
		if unserved.MatchString(name) {
			t.Errorf("%s cannot be a file of a module", name)
		}
	}
}

func TestTopLevel(t *testing.T) {
	for _, name := range files(t) {
		top, _, _ := strings.Cut(name, "/")
		if top[0] != '.' && !slices.Contains(topLevel, top) {
			t.Errorf("%s does not belong at the top of the repository", name)
		}
	}
	for _, name := range topLevel {
		if _, err := fs.Stat(repository, name); err != nil {
			t.Error(err)
		}
	}
}

// link matches a link to a file of the repository in Markdown.
var link = regexp.MustCompile(`\]\(([^):#]+)\)`)

func TestDocumentsLinkToFiles(t *testing.T) {
	documents, err := fs.Glob(repository, "*.md")
	testenv.Check(t, err)
	contrib, err := fs.Glob(repository, "contrib/*.md")
	if err != nil || len(contrib) == 0 {
		t.Fatal("no documents in contrib", err)
	}
	guide, err := fs.Glob(repository, "contrib/guide/*.md")
	if err != nil || len(guide) == 0 {
		t.Fatal("no guide", err)
	}
	for _, name := range slices.Concat(documents, contrib, guide) {
		text, err := fs.ReadFile(repository, name)
		testenv.Check(t, err)
		for _, m := range link.FindAllSubmatch(text, -1) {
			if _, err := fs.Stat(repository, path.Join(path.Dir(name), string(m[1]))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name == "README.md" && bytes.Count(text, []byte("\n")) >= 120 {
			t.Error("README.md has 120 lines or more")
		}
	}
}
