package ledger

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// TestHeadersWithRightChecksums restores files whose headers were written by somebody who knows
// their checksum. The library follows them to other pages than those that were checked.
func TestHeadersWithRightChecksums(t *testing.T) {
	good, order := filled(t), binary.NativeEndian
	page := os.Getpagesize()
	seal := func(header []byte) { // without the head of its page
		sum := fnv.New64a()
		_, _ = sum.Write(header[:56])
		order.PutUint64(header[56:], sum.Sum64())
	}
	for name, edit := range map[string]func(first, second []byte, file *[]byte){
		"pages of 0 bytes": func(first, _ []byte, _ *[]byte) { order.PutUint32(first[8:], 0) },
		"pages of 1 GiB":   func(first, _ []byte, _ *[]byte) { order.PutUint32(first[8:], 1<<30) },
		"pages beyond 2^63": func(first, second []byte, _ *[]byte) {
			order.PutUint64(first[40:], 1<<63)
			order.PutUint64(second[40:], 1<<63)
		},
		"a second header that leads to a page that leads to itself": func(first, second []byte, file *[]byte) {
			circle := uint64(len(*file) / page)
			b := make([]byte, page)
			order.PutUint64(b, circle)
			b[8], b[10] = 1, 1 // a branch with one element
			order.PutUint32(b[16:], 16)
			order.PutUint32(b[20:], 4)
			order.PutUint64(b[24:], circle)
			copy(b[32:], "meta")
			order.PutUint32(second[8:], 512)
			order.PutUint64(second[16:], circle)
			order.PutUint64(second[40:], circle+1)
			order.PutUint64(second[48:], max(order.Uint64(first[48:]), order.Uint64(second[48:]))+1)
			*file = append(*file, b...)
		},
	} {
		data := append([]byte(nil), good...)
		first, second := data[16:80], data[page+16:page+80]
		edit(first, second, &data)
		copy(data[16:], first)
		copy(data[page+16:], second)
		seal(data[16:80])
		seal(data[page+16 : page+80])
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		if l, err := Open(Options{Path: path, Model: pair}); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("%s: Open: %v", name, err)
			if err == nil {
				l.Close()
			}
		}
		if done, err := Repair(Options{Path: path, Model: pair}); err != nil || done.Reports != 200 {
			t.Errorf("%s: Repair: %d reports, %v", name, done.Reports, err)
		}
		l, err := Open(Options{Path: path, Model: pair})
		if err != nil {
			t.Errorf("%s: Open after the repair: %v", name, err)
			continue
		}
		testenv.Check(t, l.Close())
	}
}
