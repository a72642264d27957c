package signature_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// What is signed of mail is within the bounds of signatures from others. TestWork checks the
// same of hostile mail.
func TestBounds(t *testing.T) {
	mails, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(mails) == 0 {
		t.Fatal("no mails", err)
	}
	for _, mail := range mails {
		raw, err := os.ReadFile(mail)
		testenv.Check(t, err)
		checkBounds(t, mail, signature.Compute(signature.Parse(raw)))
	}
}

// checkBounds checks what a message is signed by. It returns how many of its image sketches
// have as many features as they may have.
func checkBounds(t *testing.T, name string, set signature.Set) (largest int) {
	t.Helper()
	of := make(map[signature.Kind]int)
	for _, s := range set.Signatures {
		of[s.Kind]++
	}
	if of[signature.KindPhrase] > signature.MaxPhrases {
		t.Errorf("%s: %d phrases", name, of[signature.KindPhrase])
	}
	delete(of, signature.KindPhrase)
	for kind, n := range of {
		if isPart := kind == signature.KindAttachment || kind == signature.KindContent; n > 1 && !isPart || n > signature.MaxAttachments {
			t.Errorf("%s: %d of %v", name, n, kind)
		}
	}
	clear(of)
	for i, s := range set.Sketches {
		if of[s.Kind]++; of[s.Kind] > signature.MaxImages || s.Kind == signature.KindSketch && (i >= signature.MaxTexts || i == 1 && !s.AskOnly && !set.Sketches[0].AskOnly) {
			t.Errorf("%s: sketch %d is of kind %v", name, i+1, s.Kind)
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s: sketch %d: %v", name, i+1, err)
		}
		if anchors, keys := signature.MaxFeatures(s.Kind); s.Kind == signature.KindImage && len(s.Anchors) == anchors && len(s.Keys) == keys {
			largest++
		}
	}
	return largest
}
