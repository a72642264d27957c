package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

func options(dir string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: "mx1", Key: [32]byte{1},
		Reports: bloomdb.ReportOptions{Capacity: 100}, Counts: bloomdb.CountOptions{Capacity: 100},
	}
}

// message is a message of a text of its own.
func message(text string) signature.Set {
	return signature.Set{Signatures: []signature.Signature{{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, []byte(text))}}}
}

// made is a backup of a small site: with a report, a message on the never-list and a key.
func made(t testing.TB) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	db, err := bloomdb.Open(options(dir))
	noError(t, err)
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(dir, ledgerName), Model: trust.Default(), NoSync: true})
	noError(t, err)
	noError(t, db.Report(message("spam"), bloomdb.ClassPhish))
	_, err = db.Never(message("letter"), "")
	noError(t, err)
	noError(t, os.WriteFile(filepath.Join(dir, "site.key"), []byte("secret\n"), 0o600))
	noError(t, db.Close()) // writes snapshots
	db, err = bloomdb.Open(options(dir))
	noError(t, err)
	noError(t, db.Report(message("more"), bloomdb.ClassOther))
	var out bytes.Buffer
	o := Options{Program: "1.2.3", Folder: dir, Keys: []string{filepath.Join(dir, "site.key"), "/etc/spambloom/federation.key"}}
	noError(t, Write(&out, db, l, o))
	noError(t, errors.Join(l.Close(), db.Close()))
	return out.Bytes()
}

func noError(t testing.TB, err error) {
	t.Helper()
	testenv.Check(t, err)
}

// holds opens a restored folder, and checks what made has put into it.
func holds(t testing.TB, dir string) {
	t.Helper()
	noError(t, Finish(dir))
	db, err := bloomdb.Open(options(dir))
	noError(t, err)
	defer db.Close()
	if !db.Judge(message("spam")).Listed || !db.Judge(message("more")).Listed || len(db.NeverList()) != 1 {
		t.Error("something is missing")
	}
	if key, err := os.ReadFile(filepath.Join(dir, "site.key")); string(key) != "secret\n" {
		t.Errorf("the key is %q, %v", key, err)
	}
	noError(t, errors.Join(db.Check(), bloomdb.CheckFolder(dir)))
}

// tree is the names and contents below a folder, without the lock.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	noError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "lock" {
			var data []byte
			data, err = os.ReadFile(path)
			files[path] = string(data)
		}
		return err
	}))
	return files
}

func TestRestore(t *testing.T) {
	data := made(t)
	for name, prepare := range map[string]func(dir string) error{
		"no folder":           func(string) error { return nil },
		"an empty folder":     func(dir string) error { return os.MkdirAll(dir, 0o700) },
		"a new file system":   func(dir string) error { return os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700) },
		"a restore of before": func(dir string) error { return os.MkdirAll(filepath.Join(dir, unfinished, "key-x"), 0o700) },
	} {
		dir := filepath.Join(t.TempDir(), "to", "state")
		noError(t, prepare(dir))
		sum, err := Restore(iotest.OneByteReader(bytes.NewReader(data)), dir)
		if err != nil || sum.Site != "mx1" || sum.Program != "1.2.3" || sum.Files < 6 || sum.Bytes == 0 || !slices.Equal(sum.Without, []string{"/etc/spambloom/federation.key"}) {
			t.Errorf("%s: %+v, %v", name, sum, err)
		}
		holds(t, dir)
		if _, err := Restore(bytes.NewReader(data), dir); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("%s: restored into a state: %v", name, err)
		}
		holds(t, dir)
	}
}

// A state folder in use is left alone, and one that is being restored is not opened.
func TestRestoreLocked(t *testing.T) {
	data := made(t)
	dir := t.TempDir()
	unlock, err := lock(dir)
	noError(t, err)
	if _, err := Restore(bytes.NewReader(data), dir); !errors.Is(err, bloomdb.ErrLocked) {
		t.Error(err)
	}
	noError(t, os.Mkdir(filepath.Join(dir, restored), 0o700))
	if err := Finish(dir); !errors.Is(err, bloomdb.ErrLocked) {
		t.Error(err)
	}
	noError(t, unlock())
	noError(t, Finish(dir))
	noError(t, os.Mkdir(filepath.Join(dir, unfinished), 0o700))
	if err := Finish(dir); !errors.Is(err, ErrUnfinished) {
		t.Error(err)
	}
}

// Wherever a backup is cut or damaged, it is refused, and the folder is as before.
func TestRestoreDamaged(t *testing.T) {
	data := made(t)
	dir := t.TempDir()
	refused := func(what string, r io.Reader) {
		t.Helper()
		_, err := Restore(r, dir)
		var damage *bloomdb.DamageError
		if !errors.Is(err, ErrBackup) && !errors.As(err, &damage) && !errors.Is(err, ledger.ErrDamaged) {
			t.Fatalf("%s: %v", what, err)
		}
		if left := tree(t, dir); len(left) > 0 {
			t.Fatalf("%s: %v is left", what, slices.Collect(maps.Keys(left)))
		}
		noError(t, Finish(dir))
	}
	end := bytes.LastIndex(data, []byte("identity\n")) + len("identity\n") // of the list
	step := max(1, end/400)
	for n := 0; n < end; n += step {
		refused(fmt.Sprintf("cut at %d of %d", n, len(data)), bytes.NewReader(data[:n]))
	}
	// A flipped bit where tar has no meaning for it does no harm: what is read is as written.
	for n := 0; n < end; n += step {
		bad := slices.Clone(data)
		bad[n] ^= 0x40
		sum, err := Read(bytes.NewReader(bad), t.TempDir())
		if err == nil && (sum.Reports != 0 || sum.Site != "mx1") {
			t.Fatalf("damaged at %d: %+v", n, sum)
		}
		if err == nil && !isPadding(data, n) {
			t.Fatalf("damaged at %d of %d: read", n, len(data))
		}
	}
	if _, err := Restore(io.MultiReader(bytes.NewReader(data[:end/2]), iotest.ErrReader(syscall.EIO)), dir); !errors.Is(err, syscall.EIO) || len(tree(t, dir)) > 0 {
		t.Errorf("a reader that fails: %v", err)
	}
	_, err := Restore(bytes.NewReader(data), dir)
	noError(t, err)
	holds(t, dir)
}

// isPadding reports whether a byte of a tar is between two members.
func isPadding(data []byte, at int) bool {
	in := bytes.NewReader(data)
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if err != nil {
			return true
		}
		begin := len(data) - in.Len()
		if end := begin + int(h.Size); at < end {
			return false
		} else if at < (end+511)/512*512 {
			return true
		}
	}
}

// member is one of an archive that a test makes.
type member struct {
	tar.Header
	content string
}

func archived(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if m.Typeflag == 0 {
			m.Typeflag = tar.TypeReg
		}
		if m.Typeflag == tar.TypeReg {
			m.Size = int64(len(m.content))
		}
		noError(t, w.WriteHeader(&m.Header))
		if m.Typeflag == tar.TypeReg {
			_, err := io.WriteString(w, m.content)
			noError(t, err)
		}
	}
	noError(t, w.Close())
	return out.Bytes()
}

func file(name, content string) member { return member{tar.Header{Name: name, Mode: 0o600}, content} }

const head = `{"version":1,"site":"mx1","key_id":"00"}`

// A member that no backup has is refused with its kind, and nothing is written outside the folder.
func TestReadRefuses(t *testing.T) {
	odd := func(h tar.Header) member { h.Mode = 0o600; return member{Header: h} }
	for name, c := range map[string]struct {
		members []member
		want    string
	}{
		"nothing":           {nil, "does not begin as one"},
		"another tar":       {[]member{file("README", "x")}, "does not begin as one"},
		"no head":           {[]member{file(headName, "x")}, "backup.json: invalid character"},
		"a long head":       {[]member{file(headName, strings.Repeat(" ", maxHead+1))}, "backup.json has over 65536 bytes"},
		"a newer version":   {[]member{file(headName, `{"version":2,"program":"9.0","site":"mx1"}`)}, `of version 2, made by a newer program, "9.0"`},
		"no version":        {[]member{file(headName, `{"site":"mx1"}`)}, "version 0"},
		"no site":           {[]member{file(headName, `{"version":1,"site":"../x"}`)}, `site "../x"`},
		"no list":           {[]member{file(headName, head), file("clock", "x")}, "cut off after 1 files"},
		"an empty list":     {[]member{file(headName, head), file(listName, "")}, "backup.list says otherwise"},
		"out of the folder": {[]member{file(headName, head), file("../escaped", "x")}, `file name "../escaped"`},
		"an absolute path":  {[]member{file(headName, head), file("/escaped", "x")}, `file name "/escaped"`},
		"a path inside out": {[]member{file(headName, head), file("a/../../escaped", "x")}, "file name"},
		"a hidden file":     {[]member{file(headName, head), file(".profile", "x")}, "file name"},
		"a deep path":       {[]member{file(headName, head), file("a/b/c/d/e", "x")}, "file name"},
		"a long name":       {[]member{file(headName, head), file(strings.Repeat("n", maxName+1), "x")}, `has a header "path"`},
		"a control byte":    {[]member{file(headName, head), file("a\x1b[2J", "x")}, "file name"},
		"the lock":          {[]member{file(headName, head), file("lock", "x")}, `file name "lock"`},
		"a restored folder": {[]member{file(headName, head), file("restored/x", "x")}, "file name"},
		"twice":             {[]member{file(headName, head), file("clock", "x"), file("clock", "x")}, "clock comes twice"},
		"file and folder":   {[]member{file(headName, head), file("clock", "x"), file("clock/x", "x")}, "clock/x comes twice"},
		"a symbolic link":   {[]member{file(headName, head), odd(tar.Header{Name: "clock", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})}, "not a plain file"},
		"a hard link":       {[]member{file(headName, head), odd(tar.Header{Name: "clock", Typeflag: tar.TypeLink, Linkname: "backup.json"})}, "not a plain file"},
		"a folder":          {[]member{file(headName, head), odd(tar.Header{Name: "key-x/", Typeflag: tar.TypeDir})}, "not a plain file"},
		"a device":          {[]member{file(headName, head), odd(tar.Header{Name: "clock", Typeflag: tar.TypeChar})}, "not a plain file"},
		"extended headers":  {[]member{file(headName, head), {tar.Header{Name: "clock", Mode: 0o600, PAXRecords: map[string]string{"SCHILY.xattr.user.x": "y"}}, "x"}}, "SCHILY.xattr.user.x"},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, "a", "state")
		noError(t, os.MkdirAll(dir, 0o700))
		_, err := Read(bytes.NewReader(archived(t, c.members...)), dir)
		if !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
		for path := range tree(t, root) {
			if !strings.HasPrefix(path, dir+"/") {
				t.Errorf("%s: wrote %s", name, path)
			}
		}
	}
}

// A small archive does not make a large file: sparse files are refused, and a size that is
// not there.
func TestReadBelievesNoSize(t *testing.T) {
	whole := archived(t, file(headName, head), file("clock", "x"))
	at := bytes.Index(whole, []byte("clock"))
	huge := slices.Clone(whole)
	copy(huge[at+124:], "77777777777\x00") // 8 GiB
	sum := 0
	copy(huge[at+148:], "        ")
	for _, b := range huge[at : at+512] {
		sum += int(b)
	}
	copy(huge[at+148:], fmt.Sprintf("%06o\x00 ", sum))
	// The writer makes no sparse file: its headers are put in afterwards.
	sparse := bytes.ReplaceAll(archived(t, file(headName, head), member{tar.Header{Name: "clock", Mode: 0o600, PAXRecords: map[string]string{
		"TST.sparse.major": "1", "TST.sparse.minor": "0", "TST.sparse.name": "clock", "TST.sparse.realsize": "1000000000000",
	}}, "1\n999999999999\n1\n" + strings.Repeat("\x00", 512-17) + "x"}), []byte("TST."), []byte("GNU."))
	if h, err := sparseHeader(sparse); err != nil || h.Size != 1e12 {
		t.Fatalf("the archive is not sparse: %+v, %v", h, err)
	}
	for name, data := range map[string][]byte{"a huge size": huge, "sparse": sparse} {
		dir := t.TempDir()
		if _, err := Read(bytes.NewReader(data), dir); !errors.Is(err, ErrBackup) {
			t.Errorf("%s: %v", name, err)
		}
		for path, content := range tree(t, dir) {
			if len(content) > len(data) {
				t.Errorf("%s: %s has %d bytes", name, path, len(content))
			}
		}
	}
}

// sparseHeader is the header of the second member.
func sparseHeader(data []byte) (*tar.Header, error) {
	r := tar.NewReader(bytes.NewReader(data))
	if _, err := r.Next(); err != nil {
		return nil, err
	}
	return r.Next()
}

// A restore that is cut off at any step is as if it had not been, or is ended by the next
// start.
func TestRestoreCutOff(t *testing.T) {
	data := made(t)
	whole := t.TempDir()
	_, err := Restore(bytes.NewReader(data), whole)
	noError(t, err)
	files := tree(t, whole)
	for moved := range len(files) + 1 { // behind the rename, with so many files moved up
		dir := t.TempDir()
		work := filepath.Join(dir, restored)
		noError(t, os.Mkdir(work, 0o700))
		n := 0
		for _, path := range slices.Sorted(maps.Keys(files)) {
			to := work
			if n < moved {
				to = dir
			}
			n++
			noError(t, os.WriteFile(filepath.Join(to, filepath.Base(path)), []byte(files[path]), 0o600))
		}
		if _, err := Restore(bytes.NewReader(data), dir); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("%d moved: %v", moved, err)
		}
		holds(t, dir)
	}
	dir := t.TempDir() // before it
	noError(t, os.Mkdir(filepath.Join(dir, unfinished), 0o700))
	noError(t, os.WriteFile(filepath.Join(dir, unfinished, "identity"), []byte("half"), 0o600))
	if err := Finish(dir); !errors.Is(err, ErrUnfinished) {
		t.Error(err)
	}
	_, err = Restore(bytes.NewReader(data), dir)
	noError(t, err)
	holds(t, dir)
}

// A backup that was extracted by hand into the folder that a restore uses replaces no file of a state.
func TestRestoredReplacesNothing(t *testing.T) {
	data := made(t)
	dir := t.TempDir()
	_, err := Restore(bytes.NewReader(data), dir)
	noError(t, err)
	by := filepath.Join(dir, restored)
	noError(t, os.Mkdir(by, 0o700))
	noError(t, os.WriteFile(filepath.Join(by, "aside"), []byte("older"), 0o600))
	noError(t, os.WriteFile(filepath.Join(by, ledgerName), []byte("older"), 0o600))
	before := tree(t, dir)
	for what, do := range map[string]func(string) error{"check": Check, "finish": Finish} {
		if err := do(dir); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), filepath.Join(dir, ledgerName)+" is also in "+by) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !maps.Equal(tree(t, dir), before) {
		t.Error("files were moved")
	}
	noError(t, os.RemoveAll(by))
	holds(t, dir)
}

// Any tar extracts a backup, and the list is of the form that cksum has.
func TestPlainTar(t *testing.T) {
	data := made(t)
	dir := t.TempDir()
	var list string
	r := tar.NewReader(bytes.NewReader(data))
	var names []string
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		noError(t, err)
		content, err := io.ReadAll(r)
		noError(t, err)
		names = append(names, h.Name)
		noError(t, os.WriteFile(filepath.Join(dir, h.Name), content, 0o600))
		list = string(content)
	}
	if n := len(names); names[0] != headName || names[n-2] != "identity" || names[n-1] != listName || !strings.HasPrefix(names[1], "journal-") {
		t.Errorf("members %q", names)
	}
	for i, line := range strings.Split(strings.TrimSuffix(list, "\n"), "\n") {
		if fields := strings.Fields(line); len(fields) != 3 || fields[2] != names[i] {
			t.Errorf("line %d of the list is %q, for %s", i, line, names[i])
		}
	}
	holds(t, dir)
}

// Whatever bytes come, nothing is written outside the folder, no file is larger than what
// came, and what is taken for a backup opens.
func FuzzRead(f *testing.F) {
	f.Add(archived(f, file(headName, head), file("clock", "x"), file("key-00/never-1-00", "y")))
	f.Add(archived(f, file(headName, head), file("../x", "x")))
	f.Add(archived(f, file(headName, head), member{tar.Header{Name: "clock", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, ""}, file("clock/x", "x")))
	f.Add(archived(f, file(headName, head), file(listName, "00000000 1 clock\n")))
	f.Add([]byte("no tar"))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, err := os.MkdirTemp(root, "")
		noError(t, err)
		defer os.RemoveAll(dir)
		into := filepath.Join(dir, "a")
		noError(t, os.Mkdir(into, 0o700))
		_, err = Read(bytes.NewReader(data), into)
		if err == nil {
			noError(t, bloomdb.CheckFolder(into))
		}
		for path, content := range tree(t, dir) {
			if !strings.HasPrefix(path, into+"/") || len(content) > len(data) {
				t.Errorf("%s of %d bytes", path, len(content))
			}
		}
	})
}
