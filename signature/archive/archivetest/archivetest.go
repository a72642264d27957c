// Package archivetest makes archives, PDFs and hostile streams for tests.
package archivetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Member is a file in an archive.
type Member struct{ name, data string }

// File returns a Member.
func File(name, data string) Member { return Member{name, data} }

// Zip returns a ZIP file.
func Zip(tb testing.TB, members ...Member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Gzip returns a gzip file with a name.
func Gzip(tb testing.TB, name string, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Tar returns a tar file.
func Tar(tb testing.TB, members ...Member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Random returns text that does not compress below half its size.
func Random(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// Deflate returns data compressed by zlib.
func Deflate(tb testing.TB, data string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// PDF returns a PDF of one stream with a dictionary, and rest behind it.
func PDF(dictionary, stream, rest string) []byte {
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type /Catalog>>\nendobj\n2 0 obj\n<< %s /Length %d >>\nstream\n%s\nendstream\nendobj\n%strailer <<>>\n",
		dictionary, len(stream), stream, rest)
}
