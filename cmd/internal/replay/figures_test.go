//go:build figures

package replay

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// federations is the number of federation keys under which each row is measured.
const federations = 2

var archiveNames = []string{"spamassassin", "lists-part", "trec07p-part", "phishing-part"}

// TestCommonnessFigures prints the tables about commonness of contrib/benchmarks.md: make
// bench-commonness. Its parts are tests of their own, since they take long.
func TestCommonnessFigures(t *testing.T) {
	archives := make(map[string][]Message)
	var spam []Message
	for _, name := range archiveNames {
		archives[name] = readArchive(t, name)
		spam = append(spam, labelled(archives[name], true)...)
	}
	wantedBut := func(name string) (wanted []Message) {
		for _, other := range archiveNames {
			if other != name {
				wanted = append(wanted, labelled(archives[other], false)...)
			}
		}
		return wanted
	}
	off, on := Options{NoCommonness: true}, Options{}
	each := func(table string, names []string, rows func(t *testing.T, name string)) {
		for _, name := range names {
			t.Run(table+"/"+name, func(t *testing.T) { rows(t, name) })
		}
	}

	t.Logf("archives: | archive | learning | spam caught, of | ham hit, of |\n")
	each("archives", archiveNames, func(t *testing.T, name string) {
		all := archives[name]
		measure(t, name+" | off", all, off)
		measure(t, name+" | on", all, on)
		measure(t, name+" | on, others' ham before", all, Options{Learn: wantedBut(name)})
		measure(t, name+" | on, own ham before", all, Options{Learn: labelled(all, false)})
	})

	t.Logf("spam first: | ham of, after all spam | learning | spam caught, of | ham hit, of |\n")
	each("spam first", archiveNames[:3], func(t *testing.T, name string) {
		ham := labelled(archives[name], false)
		measure(t, name+" | off", slices.Concat(spam, ham), off)
		measure(t, name+" | on", slices.Concat(spam, ham), on)
		measure(t, name+" | on, others' ham before", slices.Concat(spam, ham), Options{Learn: wantedBut(name)})
		half := len(ham) / 2
		measure(t, name+", newer half | off", slices.Concat(spam, ham[half:]), off)
		measure(t, name+", newer half | on, older half before", slices.Concat(spam, ham[half:]), Options{Learn: ham[:half]})
	})

	t.Logf("ham reported: | every second ham of, reported as spam | learning | ham of other senders hit, of |\n")
	each("ham reported", archiveNames[:3], func(t *testing.T, name string) {
		every := slices.Clone(labelled(archives[name], false))
		for i := range every {
			every[i].Spam = i%2 == 0
		}
		framed(t, name+" | off", every, off)
		framed(t, name+" | on", every, on)
		for _, other := range archiveNames[:3] {
			if other != name {
				framed(t, name+" | on, ham of "+other+" before", every, Options{Learn: labelled(archives[other], false)})
			}
		}
		framed(t, name+" | on, others' ham before", every, Options{Learn: wantedBut(name)})
	})
}

// measure prints the means of a row over the keys, with the least and the greatest.
func measure(t *testing.T, row string, messages []Message, o Options) {
	tally(t, row, under(t, messages, o))
}

func tally(t *testing.T, row string, r *Result) {
	t.Helper()
	var caught, hit []int
	for _, k := range r.Keys {
		caught, hit = append(caught, k.Caught), append(hit, k.HamHit)
	}
	t.Logf("| %s | %s, %d | %s, %d |", row, mean(caught), r.Spam, mean(hit), r.Ham)
	for _, fp := range r.FalsePositives {
		t.Logf("    hit: %s %+v", fp.File, fp.Reasons)
	}
}

// framed prints a row of ham that is hit because ham of another sender was reported.
func framed(t *testing.T, row string, messages []Message, o Options) {
	from := make(map[string]string)
	for _, m := range messages {
		from[m.Name] = m.From
	}
	r := under(t, messages, o)
	hit := 0
	for _, fp := range r.FalsePositives {
		if !slices.ContainsFunc(fp.Reasons, func(a Reason) bool { return from[a.Reported] == from[fp.File] }) {
			hit += fp.Keys
		}
	}
	t.Logf("| %s | %.1f, %d |", row, float64(hit)/federations, r.Ham)
}

func under(t *testing.T, messages []Message, o Options) *Result {
	t.Helper()
	dir, remove := stateFolder(t)
	defer remove()
	o.Dir, o.Sites, o.ReportShare, o.Seed = dir, 1, 1, 1
	r, err := RunKeys(context.Background(), messages, o, federations, func() {})
	testenv.Check(t, err)
	return r
}

func mean(list []int) string {
	sum := 0
	for _, n := range list {
		sum += n
	}
	return fmt.Sprintf("%.1f (%d to %d)", float64(sum)/float64(len(list)), slices.Min(list), slices.Max(list))
}

func labelled(messages []Message, spam bool) []Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m Message) bool { return m.Spam != spam })
}

// readArchive returns the signed mail of an archive in the order of time.
func readArchive(t *testing.T, name string) []Message {
	t.Helper()
	var messages []Message
	latest := time.Now()
	eachOf(t, name, func(file string, m signature.Message) {
		messages = append(messages, Message{
			Name: file, Spam: path.Base(path.Dir(file)) == "spam", Time: TimeOf(m, latest), From: FromOf(m), Set: signature.Compute(m),
		})
	})
	slices.SortFunc(messages, func(a, b Message) int { return strings.Compare(a.Name, b.Name) })
	Sort(messages)
	return messages
}

// eachOf passes on each message of an archive.
func eachOf(t *testing.T, name string, each func(file string, m signature.Message)) {
	t.Helper()
	xz := testenv.Program(t, "xz")
	packed := os.Getenv("SPAMBLOOM_CORPORA") + "/" + name + ".tar.xz"
	if _, err := os.Stat(packed); err != nil {
		packed = testenv.Corpus(t, "../../..", name+".tar.xz")
	}
	raw, err := exec.Command(xz, "--decompress", "--stdout", packed).Output()
	testenv.Check(t, err)
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		head, err := r.Next()
		if err == io.EOF {
			return
		}
		testenv.Check(t, err)
		content, err := io.ReadAll(r)
		testenv.Check(t, err)
		if head.Typeflag == tar.TypeReg {
			each(head.Name, signature.Parse(content))
		}
	}
}
