package drivers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// module gives the directory of a module that install.sh fetched: its files are read, and nothing of it is compiled.
func module(path string) string {
	return filepath.Join(append([]string{os.Getenv("TARNDB_TEST_MODULES")}, strings.Split(path, "/")...)...)
}

var comments = regexp.MustCompile(`--[^\n]*`)

// schema gives the statements of a file of CQL.
func schema(t *testing.T, path string, values map[string]string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := comments.ReplaceAllString(string(text), "")
	for name, value := range values {
		whole = strings.ReplaceAll(whole, "${"+name+"}", value)
	}
	var statements []string
	for _, statement := range strings.Split(whole, ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

var verbs = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE)\s`)

// statements gives every CQL statement that is a constant in the Go files of a directory, in order of their names.
func statements(t *testing.T, directory string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	expressions := map[string]ast.Expr{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.CONST {
				continue
			}
			for _, spec := range general.Specs {
				values := spec.(*ast.ValueSpec)
				for place, name := range values.Names {
					if place < len(values.Values) {
						expressions[name.Name] = values.Values[place]
					}
				}
			}
		}
	}
	found := map[string]string{}
	for name, expression := range expressions {
		if text, ok := constant(expression, expressions); ok && verbs.MatchString(text) {
			found[name] = text
		}
	}
	return found
}

// constant computes a text made of literals, other constants and +.
func constant(expression ast.Expr, all map[string]ast.Expr) (string, bool) {
	switch part := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(part.Value)
		return text, err == nil && part.Kind == token.STRING
	case *ast.Ident:
		if other, ok := all[part.Name]; ok {
			return constant(other, all)
		}
	case *ast.ParenExpr:
		return constant(part.X, all)
	case *ast.BinaryExpr:
		left, known := constant(part.X, all)
		right, alsoKnown := constant(part.Y, all)
		return left + right, known && alsoKnown && part.Op == token.ADD
	}
	return "", false
}

func sorted(all map[string]string) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
