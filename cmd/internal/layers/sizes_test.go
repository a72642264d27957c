package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The bounds of a package without its tests: lines, comments and empty ones included, and
// exported names without methods and fields.
const (
	maxLines = 2000
	maxNames = 60
)

// size is a bound of its own for a package, and why it has one.
type size struct {
	lines, names int
	reason       string
}

// larger lists the packages that are over a bound.
var larger = map[string]size{
	"reporting/api": {2000, 73, "a type for each request and each answer"},
}

// A package that grows past its bound has become two.
func TestPackageSize(t *testing.T) {
	lines, names := make(map[string]int), make(map[string]int)
	eachFile(t, parser.SkipObjectResolution, func(name string, src []byte, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		lines[path.Dir(name)] += bytes.Count(src, []byte("\n"))
		names[path.Dir(name)] += exportedNames(file)
	})
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		bound, isLarger := larger[pkg]
		if !isLarger {
			bound = size{lines: maxLines, names: maxNames}
		}
		if lines[pkg] > bound.lines {
			t.Errorf("%s: %d lines, at most %d", pkg, lines[pkg], bound.lines)
		}
		if names[pkg] > bound.names {
			t.Errorf("%s: %d exported names, at most %d", pkg, names[pkg], bound.names)
		}
		if isLarger && lines[pkg] <= maxLines && names[pkg] <= maxNames {
			t.Errorf("%s: %d lines and %d exported names need no bound of their own", pkg, lines[pkg], names[pkg])
		}
	}
	for pkg := range larger {
		if lines[pkg] == 0 {
			t.Errorf("there is no package %s", pkg)
		}
	}
}

// exportedNames counts the names that a file declares for other packages.
func exportedNames(file *ast.File) (n int) {
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					count(spec.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						count(name)
					}
				}
			}
		}
	}
	return n
}
