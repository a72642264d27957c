package signature_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// All that is signed, hostile or not, is within the bounds of signatures from others, and
// the largest sketches reach them.
func TestBounds(t *testing.T) {
	all := everyHostile(t)
	mails, err := filepath.Glob("testdata/*.eml")
	if err != nil {
		t.Fatal(err)
	}
	for _, mail := range mails {
		if all[mail], err = os.ReadFile(mail); err != nil {
			t.Fatal(err)
		}
	}
	images := 0
	for name, raw := range all {
		set := signature.Compute(signature.Parse(raw))
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
				images++
			}
		}
	}
	if images == 0 {
		t.Error("no image has as many features as images may have")
	}
}
