package folder_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestSealedForm(t *testing.T) {
	form := folder.SealedForm{FileForm: folder.FileForm{Name: "thing", Magic: "SBTHING\n", Version: 3}, Most: 5}
	key := [8]byte{7}
	file := func(change func(b []byte) []byte) []byte {
		return folder.Seal(change(append(form.Begin(key), "12345"...)))
	}
	head := func(i int, to byte) []byte { // with a right checksum
		return file(func(b []byte) []byte { b[i] = to; return append(folder.Seal(b[:folder.FileHead-4]), "12345"...) })
	}
	same := func(b []byte) []byte { return b }
	good := file(same)
	for name, c := range map[string]struct {
		data []byte
		want string // part of the error; "": none
	}{
		"good":                  {good, ""},
		"empty":                 {folder.Seal(form.Begin(key)), ""},
		"no bytes":              {nil, "file is cut short"},
		"short":                 {folder.Seal(form.Begin(key)[:17]), "file is cut short"},
		"no content's checksum": {form.Begin(key), "file is cut short"},
		"magic":                 {file(func(b []byte) []byte { b[0] = 'x'; return b }), "no thing: wrong magic"},
		"version":               {head(9, 4), "newer format (version 4; this program reads 3), made by a newer version of spambloom"},
		"version of two bytes":  {head(8, 1), "newer format (version 259; this program reads 3)"},
		"earlier version":       {head(9, 2), "thing version 2, this program reads 3"},
		"flipped version":       {file(func(b []byte) []byte { b[9] = 4; return b }), "checksum of the head is wrong"},
		"key":                   {head(10, 8), "made under federation key 08"},
		"checksum":              {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), "checksum is wrong"},
		"long":                  {file(func(b []byte) []byte { return append(b, '6') }), "file has more than 31 bytes"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		testenv.Check(t, os.WriteFile(path, c.data, 0o600))
		var data []byte
		err := form.Load(path, func(all []byte) error { data = all; return nil })
		testenv.Check(t, err)
		_, err = form.Open(data, key)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if content, err := form.Open(good, key); err != nil || string(content) != "12345" {
		t.Errorf("%q, %v", content, err)
	}
	endless := folder.SealedForm{FileForm: folder.FileForm{Name: "zeros"}, Most: 100}
	long := filepath.Join(t.TempDir(), "long")
	testenv.Check(t, errors.Join(os.WriteFile(long, nil, 0o600), os.Truncate(long, 1<<40)))
	read := 0
	count := func(data []byte) error { read = len(data); return nil }
	if err := endless.Load(long, count); err != nil || read > 200 {
		t.Errorf("of a file of a terabyte %d bytes, %v", read, err)
	}
	var damage *folder.DamageError
	if err := endless.Load("/dev/zero", count); !errors.As(err, &damage) {
		t.Errorf("of a device: %v", err)
	}
}
