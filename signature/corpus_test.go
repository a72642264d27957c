package signature_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

type corpusMail struct {
	name string
	spam bool
	raw  []byte
}

// corpus returns the mail of the SpamAssassin public corpus, or skips.
func corpus(tb testing.TB) []corpusMail {
	tb.Helper()
	xz, path := testenv.Program(tb, "xz"), testenv.Corpus(tb, "..", "spamassassin.tar.xz")
	mails, err := readCorpus(xz, path)
	if err != nil {
		tb.Fatal(err)
	}
	return mails
}

// readCorpus unpacks the archive once.
func readCorpus(xz, path string) ([]corpusMail, error) {
	corpusRead.Do(func() { unpacked.mails, unpacked.err = unpackCorpus(xz, path) })
	return unpacked.mails, unpacked.err
}

var (
	corpusRead sync.Once
	unpacked   struct {
		mails []corpusMail
		err   error
	}
)

func unpackCorpus(xz, path string) ([]corpusMail, error) {
	unpacked, err := exec.Command(xz, "--decompress", "--stdout", path).Output()
	if err != nil {
		return nil, err
	}
	var mails []corpusMail
	for r := tar.NewReader(bytes.NewReader(unpacked)); ; {
		head, err := r.Next()
		if err == io.EOF {
			return mails, nil
		}
		if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		mails = append(mails, corpusMail{head.Name, strings.Contains(head.Name, "/spam/"), raw})
	}
}

// No signature that is strong alone is shared by a ham and a spam message.
func TestCorpusNoFalseAgreement(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	type count struct{ ham, spam []string }
	found := make(map[signature.Signature]*count)
	var signed, spam int
	mails := corpus(t)
	for i := 0; i < len(mails); i += scale { // all of it without the race detector
		m := mails[i]
		s := signature.Compute(signature.Parse(m.raw))
		if len(s.Signatures) > 0 {
			signed++
		}
		for _, sig := range s.Signatures {
			c := found[sig]
			if c == nil {
				c = new(count)
				found[sig] = c
			}
			if m.spam {
				c.spam = append(c.spam, m.name)
			} else {
				c.ham = append(c.ham, m.name)
			}
		}
		if m.spam {
			spam++
		}
	}
	if spam == 0 || spam == len(mails) {
		t.Fatalf("%d of %d messages are spam: cannot compare", spam, len(mails))
	}

	sharedHam, sharedSpam := make(map[signature.Kind]int), make(map[signature.Kind]int)
	for sig, c := range found {
		if len(c.ham) > 0 && len(c.spam) > 0 {
			t.Errorf("%s is shared by ham %v and spam %v", sig.ID(), c.ham, c.spam)
		}
		if len(c.ham) > 1 {
			sharedHam[sig.Kind] += len(c.ham)
		}
		if len(c.spam) > 1 {
			sharedSpam[sig.Kind] += len(c.spam)
		}
	}
	t.Logf("%d messages, %d of them spam; %d signed", len(mails), spam, signed)
	for _, k := range []signature.Kind{signature.KindBody, signature.KindText, signature.KindAttachment} {
		t.Logf("%s: %d ham and %d spam messages share one with another of their sort", k, sharedHam[k], sharedSpam[k])
	}
}
