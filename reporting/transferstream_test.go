package reporting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testHead = ExportHead{Site: "mx1", KeyID: "0123456789abcdef", Made: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Version: "1.2.3"}

// streamOf writes an export of these halves.
func streamOf(t interface{ Fatal(...any) }, ledger, filters []byte) []byte {
	var b bytes.Buffer
	x, err := newExportWriter(&b, testHead)
	if err != nil {
		t.Fatal(err)
	}
	x.section(sectionLedger)
	x.Write(ledger)
	x.section(sectionFilters)
	for _, one := range filters { // in small pieces
		x.Write([]byte{one})
	}
	if err := x.close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readStream is what a reader makes of a stream: its halves, or an error.
func readStream(data []byte) (ledger, filters []byte, err error) {
	x, err := newExportReader(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	if ledger, err = io.ReadAll(x.section(sectionLedger)); err != nil {
		return nil, nil, err
	}
	if filters, err = io.ReadAll(x.section(sectionFilters)); err != nil {
		return nil, nil, err
	}
	return ledger, filters, x.rest()
}

// What is written is read again, whatever its length.
func TestExportStream(t *testing.T) {
	length := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(maxFrame-2, maxFrame+2), rapid.IntRange(0, 3*maxFrame))
	rapid.Check(t, func(t *rapid.T) {
		ledger := bytes.Repeat([]byte{7}, length.Draw(t, "ledger"))
		filters := bytes.Repeat([]byte{8}, length.Draw(t, "filters"))
		data := streamOf(t, ledger, filters)
		gotLedger, gotFilters, err := readStream(data)
		if err != nil || !bytes.Equal(gotLedger, ledger) || !bytes.Equal(gotFilters, filters) {
			t.Fatalf("%d and %d bytes, %v; want %d and %d", len(gotLedger), len(gotFilters), err, len(ledger), len(filters))
		}
		x, err := newExportReader(bytes.NewReader(data))
		if err != nil || x.Head != testHead {
			t.Fatalf("%+v, %v", x, err)
		}
		if err := x.rest(); err != nil {
			t.Fatal(err)
		}
	})
}

// Cut anywhere, damaged anywhere, or with more behind: it is no export.
func TestExportStreamDamaged(t *testing.T) {
	data := streamOf(t, []byte(strings.Repeat("reports ", 40)), []byte(strings.Repeat("bits ", 40)))
	for n := range data {
		if _, _, err := readStream(data[:n]); !errors.Is(err, ErrExport) {
			t.Fatalf("cut at %d of %d: %v", n, len(data), err)
		}
		damaged := bytes.Clone(data)
		damaged[n] ^= 1
		if _, _, err := readStream(damaged); !errors.Is(err, ErrExport) {
			t.Fatalf("damaged at %d of %d: %v", n, len(data), err)
		}
	}
	if _, _, err := readStream(append(bytes.Clone(data), 0)); !errors.Is(err, ErrExport) {
		t.Errorf("a byte more: %v", err)
	}
}

// frames puts frames together with the right checksums, as no writer would.
func frames(list ...string) []byte {
	b := append([]byte(exportMagic), 0, exportVersion)
	for _, f := range list {
		b = append(b, f[0])
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)-1))
		b = append(b, f[1:]...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	}
	return b
}

// Frames in another order are refused, though each is good.
func TestExportStreamOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		want   string // "": it is good
	}{
		{"all", []string{"h{}", "lA", "lB", "fC", "e"}, ""},
		{"nothing in it", []string{"h{}", "e"}, ""},
		{"no head", []string{"lA", "e"}, "ledger after the beginning"},
		{"two heads", []string{"h{}", "h{}", "e"}, "head after head"},
		{"filters first", []string{"h{}", "fC", "lA", "e"}, "ledger after filters"},
		{"more after the end", []string{"h{}", "e", "lA"}, "more follows its end"},
		{"no end", []string{"h{}", "lA"}, "it is cut off"},
		{"a frame of nothing", []string{"h{}", "l", "e"}, "a frame of 0 bytes"},
		{"an end with something in it", []string{"h{}", "ex"}, "a frame of 1 bytes"},
		{"a section of a later version", []string{"h{}", "zx", "e"}, "is not known here"},
		{"a head of no JSON", []string{"h{", "e"}, "its head"},
		{"a long frame", []string{"h{}", "l" + strings.Repeat("x", maxFrame+1), "e"}, "a frame of 65537 bytes"},
	} {
		_, _, err := readStream(frames(c.frames...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// A stream of a later version is refused by its number.
func TestExportStreamVersion(t *testing.T) {
	data := streamOf(t, nil, nil)
	data[len(exportMagic)+1] = exportVersion + 1
	if _, err := newExportReader(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), "version 2, this program reads 1") {
		t.Error(err)
	}
}

// FuzzExportStream: whatever comes, the reader ends, and what it takes for whole is
// what a writer writes of the same halves.
func FuzzExportStream(f *testing.F) {
	f.Add(streamOf(f, []byte("reports"), []byte("bits")))
	f.Add(frames("h{}", "e"))
	f.Add(frames("h{}", "lA", "lB", "fC", "e"))
	f.Add([]byte(exportMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		ledger, filters, err := readStream(data)
		if err != nil {
			if !errors.Is(err, ErrExport) {
				t.Fatal(err)
			}
			return
		}
		again, bits, err := readStream(streamOf(t, ledger, filters))
		if err != nil || !bytes.Equal(again, ledger) || !bytes.Equal(bits, filters) {
			t.Fatalf("%q, %q, %v", again, bits, err)
		}
	})
}
