package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// got returns what a reader yields, one line for each message or error.
func got(read func(yield func(Message, error) bool)) []string {
	var lines []string
	read(func(m Message, err error) bool {
		switch {
		case err != nil:
			lines = append(lines, fmt.Sprintf("%s error %v", m.Name, err))
		case m.Truncated:
			lines = append(lines, fmt.Sprintf("%s cut %q", m.Name, m.Raw))
		default:
			lines = append(lines, fmt.Sprintf("%s %q", m.Name, m.Raw))
		}
		return true
	})
	return lines
}

func stream(name, data string, limit int) []string {
	return got(func(yield func(Message, error) bool) { readStream(name, strings.NewReader(data), limit, yield) })
}

const mark = "From a@example.org Fri Nov 20 12:00:00 2026\n"

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       []string
	}{
		{"message", "A: b\n\nhi\n", []string{`f "A: b\n\nhi\n"`}},
		{"empty", "", []string{"f error f: message of 0 bytes"}},
		{"mbox of one", mark + "A: b\n\nhi\n", []string{`f "A: b\n\nhi\n"`}},
		{"any From line at the top", "From x\nA: b\n\nhi\n", []string{`f "A: b\n\nhi\n"`}},
		{"mbox of two", mark + "A: b\n\nhi\n\n" + mark + "C: d\n\nho\n\n",
			[]string{`f:1 "A: b\n\nhi\n"`, `f:2 "C: d\n\nho\n\n"`}},
		{"CRLF", strings.ReplaceAll(mark+"A: b\n\nhi\n\n"+mark+"C: d\n\nho\n", "\n", "\r\n"),
			[]string{`f:1 "A: b\r\n\r\nhi\r\n"`, `f:2 "C: d\r\n\r\nho\r\n"`}},
		{"only a postmark", mark, []string{"f error f: message of 0 bytes"}},
		{"message of 0 bytes inside", mark + "A: b\n\n" + mark + "\n" + mark + "C: d\n",
			[]string{`f:1 "A: b\n"`, "f:2 error f:2: message of 0 bytes", `f:3 "C: d\n"`}},
		{"postmark at the end", mark + "A: b\n\n" + mark, []string{`f:1 "A: b\n"`, "f:2 error f:2: message of 0 bytes"}},
		{"without newline at the end", mark + "A: b\n\nhi", []string{`f "A: b\n\nhi"`}},
		{"mboxrd and mboxo quoting", mark + "A: b\n\n>From x\n>>From y\n> From z\n",
			[]string{`f "A: b\n\nFrom x\n>From y\n> From z\n"`}},
		{"no postmark without an empty line before", mark + "A: b\n" + mark + "\n", []string{`f "A: b\n` + strings.TrimSpace(mark) + `\n\n"`}},
		{"text that begins with From", mark + "A: b\n\nFrom here to 2026\n\nFrom now on\n",
			[]string{`f "A: b\n\nFrom here to 2026\n\nFrom now on\n"`}},
		{"other postmarks", "From \nA: b\n\nFrom - Fri Nov 20 12:00:00 2026\nC: d\n\nFrom MAILER-DAEMON Fri Nov 20 12:00 2026 +0100\nE: f\n",
			[]string{`f:1 "A: b\n"`, `f:2 "C: d\n"`, `f:3 "E: f\n"`}},
	} {
		if lines := stream("f", c.data, 1000); !slices.Equal(lines, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, lines, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	if lines := stream("f", "0123456789", 10); !slices.Equal(lines, []string{`f "0123456789"`}) {
		t.Errorf("at the limit: %q", lines)
	}
	if lines := stream("f", "0123456789x", 10); !slices.Equal(lines, []string{`f cut "0123456789"`}) {
		t.Errorf("over the limit: %q", lines)
	}
	long := strings.Repeat("y", 200<<10) // a line longer than the buffer
	want := []string{`f:1 cut "A: b\n\nyyyy"`, `f:2 "C: d\n"`}
	if lines := stream("f", mark+"A: b\n\n"+long+"\n\n"+mark+"C: d\n", 10); !slices.Equal(lines, want) {
		t.Errorf("mbox: %q", lines)
	}
	// The middle of a long line is not the beginning of a line.
	at := 64<<10 - len(mark) - len("A: b\n\n")
	tricky := mark + "A: b\n\n" + strings.Repeat("z", at) + ">From " + mark
	if lines := stream("f", tricky, 1<<20); len(lines) != 1 || !strings.Contains(lines[0], "z>From From a@") {
		t.Errorf("%d messages", len(lines))
	}
}

func TestBrokenStream(t *testing.T) {
	for _, begin := range []string{"", "A: b\n", mark, mark + "A: b\n"} {
		r := io.MultiReader(strings.NewReader(begin), iotest.ErrReader(errors.New("bad disk")))
		lines := got(func(yield func(Message, error) bool) { readStream("f", r, 100, yield) })
		if !slices.Equal(lines, []string{"f error f: bad disk"}) {
			t.Errorf("after %q: %q", begin, lines)
		}
	}
}

// tree writes files, given as name and content, in a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Check(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

// list reads names and returns what is yielded, with root removed.
func list(root, stdin string, names ...string) []string {
	lines := got(Read(names, strings.NewReader(stdin)))
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], root+"/", "")
	}
	return lines
}

func TestFolder(t *testing.T) {
	root := tree(t, map[string]string{
		"b.eml": "B: 1\n", "a.eml": "A: 1\n", ".hidden": "H: 1\n", ".git/x": "G: 1\n",
		"sub/c.eml": "C: 1\n", "sub/box": mark + "D: 1\n\n" + mark + "E: 1\n", "empty": "",
		"tmp/t.eml": "T: 1\n",
	})
	testenv.Check(t, os.Symlink("a.eml", filepath.Join(root, "link")))
	testenv.Check(t, os.Symlink(".", filepath.Join(root, "circle")))
	testenv.Check(t, os.Symlink("nowhere", filepath.Join(root, "broken")))
	want := []string{
		`a.eml "A: 1\n"`, `b.eml "B: 1\n"`, "broken error stat broken: no such file or directory",
		"empty error empty: message of 0 bytes", `link "A: 1\n"`,
		`sub/box:1 "D: 1\n"`, `sub/box:2 "E: 1\n"`, `sub/c.eml "C: 1\n"`, `tmp/t.eml "T: 1\n"`,
	}
	if lines := list(root, "", root); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
}

func TestMaildir(t *testing.T) {
	root := tree(t, map[string]string{
		"cur/1.host:2,S": "A: 1\n", "new/2.host": "B: 1\n", "tmp/3.host": "C: 1\n",
		"dovecot-uidlist": "3 V1\n", ".Junk/cur/4.host:2,": "D: 1\n", ".Junk/new/5.host": "E: 1\n", "subscriptions": "x",
	})
	want := []string{`cur/1.host:2,S "A: 1\n"`, `new/2.host "B: 1\n"`}
	if lines := list(root, "", root); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
	want = []string{`cur/4.host:2, "D: 1\n"`, `new/5.host "E: 1\n"`}
	junk := filepath.Join(root, ".Junk") // given by name, so its dot does not matter
	if lines := list(junk, "", junk); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
}

// A file of a Maildir is one message, even with a "From " line at its top: its sender wrote the others.
func TestMaildirHasNoMbox(t *testing.T) {
	two := mark + "A: 1\n\nhi\n\n" + mark + "B: 1\n\nho\n"
	root := tree(t, map[string]string{"box/cur/1.host:2,": two, "box/new/2.host": two, "box/tmp/3.host": two, "new/years": two, "mbox": two})
	whole, split := fmt.Sprintf(" %q", two), []string{`:1 "A: 1\n\nhi\n"`, `:2 "B: 1\n\nho\n"`}
	want := []string{"box/cur/1.host:2," + whole, "box/new/2.host" + whole, "mbox" + split[0], "mbox" + split[1], "new/years" + split[0], "new/years" + split[1]}
	if lines := list(root, "", root); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
	for _, name := range []string{"box/cur", "box/cur/1.host:2,"} {
		if lines := list(root, "", filepath.Join(root, name)); !slices.Equal(lines, want[:1]) {
			t.Errorf("%s:\n got %q\nwant %q", name, lines, want[:1])
		}
	}
}

// A chain of folders costs its owner a name for each, and a reader the square of their number. Its
// inner part is an error, and what is beside it is read.
func TestDeepFolders(t *testing.T) {
	shallow, deep := strings.Repeat("d/", maxDepth), strings.Repeat("d/", 4*maxDepth)
	root := tree(t, map[string]string{"a.eml": "A: 1\n", shallow + "b.eml": "B: 1\n", deep + "c.eml": "C: 1\n", "z.eml": "Z: 1\n"})
	want := []string{
		`a.eml "A: 1\n"`, shallow + `b.eml "B: 1\n"`,
		shallow + "d error open " + shallow + "d: " + errTooDeep.Error(), `z.eml "Z: 1\n"`,
	}
	if lines := list(root, "", root); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
	for _, err := range Read([]string{root}, nil) { // it may stop at the error
		if err != nil {
			break
		}
	}
}

// A folder without any message is an error; one with only a broken message has already had
// its error.
func TestEmptyFolder(t *testing.T) {
	root := tree(t, map[string]string{
		"empty/.hidden": "A: 1\n", "maildir/cur/.keep": "", "maildir/new/.keep": "", "maildir/subscriptions": "x",
		"broken/0": "", "outer/inner/a": "A: 1\n",
	})
	testenv.Check(t, os.Mkdir(filepath.Join(root, "outer/other"), 0o700))
	var names []string
	for _, name := range []string{"empty", "maildir", "broken", "outer"} {
		names = append(names, filepath.Join(root, name))
	}
	want := []string{
		"empty error empty: no message in it", "maildir error maildir: no message in it",
		"broken/0 error broken/0: message of 0 bytes", `outer/inner/a "A: 1\n"`,
	}
	if lines := list(root, "", names...); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
}

func TestNames(t *testing.T) {
	root := tree(t, map[string]string{"a": "A: 1\n", "b": "B: 1\n"})
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	want := []string{`a "A: 1\n"`, "none error stat none: no such file or directory", `- "S: 1\n"`, `b "B: 1\n"`}
	if lines := list(root, "S: 1\n", a, filepath.Join(root, "none"), "-", b); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
	if lines := list(root, "", "", a); !slices.Equal(lines, []string{" error an empty file name", `a "A: 1\n"`}) {
		t.Errorf("an empty name: %q", lines)
	}
	if lines := list(root, "S: 1\n"); !slices.Equal(lines, []string{`- "S: 1\n"`}) {
		t.Errorf("no names: %q", lines)
	}
	for m := range Read([]string{a, b}, nil) {
		if m.Name != a {
			t.Errorf("%s is read after the reader stopped", m.Name)
		}
		break
	}
}

// Root can read everything, so a folder replaces a file here.
func TestUnreadable(t *testing.T) {
	var errs []error
	dir := t.TempDir()
	info, err := os.Stat(dir)
	testenv.Check(t, err)
	readFile(dir, info, func(_ Message, err error) bool { errs = append(errs, err); return true })
	var path *fs.PathError
	if len(errs) != 1 || !errors.As(errs[0], &path) {
		t.Errorf("%v", errs)
	}
}

// Messages written as an mboxrd are read back unchanged.
func TestMboxRoundTrip(t *testing.T) {
	line := rapid.StringMatching(`(>{0,2}From |From a@b |[a-z: 0-9]{0,8})[a-z]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var box bytes.Buffer
		messages := rapid.SliceOfN(rapid.SliceOfN(line, 1, 8), 1, 4).Draw(t, "messages")
		var want []string
		for _, lines := range messages {
			box.WriteString(mark)
			raw := ""
			for _, l := range lines {
				raw += l + "\n"
				if strings.HasPrefix(strings.TrimLeft(l, ">"), "From ") {
					l = ">" + l
				}
				box.WriteString(l + "\n")
			}
			box.WriteString("\n")
			want = append(want, raw)
		}
		want[len(want)-1] += "\n" // the last separator cannot be distinguished from text
		var raws []string
		readStream("f", &box, MaxMessage, func(m Message, err error) bool {
			testenv.Check(t, err)
			raws = append(raws, string(m.Raw))
			return true
		})
		if !slices.Equal(raws, want) {
			t.Fatalf("\n got %q\nwant %q", raws, want)
		}
	})
}

// FuzzMbox: every byte of every line except the postmarks is returned, within the limits,
// for any content of the file.
func FuzzMbox(f *testing.F) {
	f.Add([]byte(mark+"A: b\n\n>From x\n\n"+mark), 100)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(1, min(limit, 1<<16))
		total, last := 0, ""
		readStream("f", bytes.NewReader(data), limit, func(m Message, err error) bool {
			if err != nil && !errors.Is(err, ErrEmpty) {
				t.Fatal(err)
			}
			if len(m.Raw) > limit || m.Truncated && len(m.Raw) != limit || m.Name == last {
				t.Fatalf("%s after %s: %d bytes of %d, truncated %v", m.Name, last, len(m.Raw), limit, m.Truncated)
			}
			total, last = total+len(m.Raw), m.Name
			return true
		})
		if total > len(data) || last == "" {
			t.Fatalf("%d bytes of %d, last message %q", total, len(data), last)
		}
	})
}

// If a reader's buffer ends in the middle of a line, the rest is not a quoted line.
func TestQuotedInTheMiddle(t *testing.T) {
	for _, length := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1} {
		// This line's beginning fills the reader's buffer of 64 KiB.
		want := strings.Repeat("x", length) + ">From y\n"
		lines := stream("f", mark+"A: b\n\n"+want, 1<<20)
		if len(lines) != 1 || lines[0] != fmt.Sprintf("f %q", "A: b\n\n"+want) {
			t.Errorf("%d bytes, then >From: it is not as it was", length)
		}
	}
}

// Standard input is one message, whatever lines its sender wrote: it is not split, and nothing in
// it is unquoted. A file's name beside it is still an mbox.
func TestStdinIsOneMessage(t *testing.T) {
	root := tree(t, map[string]string{"box": mark + "A: 1\n\n" + mark + "B: 1\n"})
	for _, raw := range []string{
		mark + "A: b\n\nhi\n\n" + mark + "From: forged@example.org\n\nof another mail\n",
		"A: b\n\nhi\n\n" + mark + "C: d\n\nho\n",
		mark + "A: b\n\n>From x\n\n" + mark,
		strings.ReplaceAll(mark+"A: b\n\n"+mark+mark, "\n", "\r\n"),
		mark,
	} {
		want := []string{fmt.Sprintf("- %q", raw)}
		if lines := list("", raw); !slices.Equal(lines, want) {
			t.Errorf("\n got %q\nwant %q", lines, want)
		}
		want = []string{`box:1 "A: 1\n"`, `box:2 "B: 1\n"`, want[0]}
		if lines := list(root, raw, filepath.Join(root, "box"), "-"); !slices.Equal(lines, want) {
			t.Errorf("beside an mbox:\n got %q\nwant %q", lines, want)
		}
	}
	if lines := list("", ""); !slices.Equal(lines, []string{"- error -: message of 0 bytes"}) {
		t.Errorf("nothing: %q", lines)
	}
}

// A reader that stops early still drains the pipe.
func TestStdinIsDrained(t *testing.T) {
	in := strings.NewReader(mark + "A: b\n\nhi\n\n" + mark + "C: d\n\n" + strings.Repeat("ho\n", 100<<10))
	for range Read(nil, in) {
		break
	}
	if in.Len() > 0 {
		t.Errorf("%d bytes were left", in.Len())
	}
}
