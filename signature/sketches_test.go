package signature_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// A few lines beside a file are a cover note that anybody writes. They are not reported,
// but asked for, so that a spam's copy with a file added is found.
func TestShortTextBesideAFileIsOnlyAsked(t *testing.T) {
	const text = "Your parcel could not be brought to you on Monday because nobody opened our driver the door." +
		" Please choose another day on the page below and pay the small customs duty there in advance."
	file := bytes.Repeat([]byte("%PDF-1.4 some file of its own\n"), 100)
	alone := signature.Compute(signature.Parse([]byte("Subject: a\n\n" + text)))
	beside := signature.Compute(signature.Parse([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + text +
		"\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment\n\n" + string(file) + "\n--b--\n")))
	if len(alone.Sketches) != 1 || len(beside.Sketches) != 1 {
		t.Fatalf("%d and %d sketches, want one each", len(alone.Sketches), len(beside.Sketches))
	}
	keyed := sketchtest.KeyedBy(1)
	if groups := beside.Sketches[0].Reported(keyed); len(groups) > 0 {
		t.Errorf("beside a file, %d groups are reported", len(groups))
	}
	st := make(sketchtest.Store)
	st.Report(alone.Sketches[0], keyed)
	if _, ok := st.Found(beside.Sketches[0], keyed); !ok {
		t.Error("the text does not match its copy beside a file")
	}
}

// A file of more than 1 MiB before a reported text does not hide it, with or without a cover note.
func TestTextBehindALargeFileIsAsked(t *testing.T) {
	keyed, st := sketchtest.KeyedBy(1), make(sketchtest.Store)
	st.Report(signature.Compute(signature.Parse([]byte("Subject: a\n\n" + ampleProse))).Sketches[0], keyed)
	for _, cover := range []string{"", prose} {
		far := signature.Compute(signature.Parse([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + cover +
			"\n--b\nContent-Type: application/octet-stream\n\n" + strings.Repeat("x", maxReach) + "\n--b\n\n" + ampleProse + "\n--b--\n")))
		isFound := false
		for i, s := range far.Sketches {
			_, ok := st.Found(s, keyed)
			isFound = isFound || ok
			if last := i == len(far.Sketches)-1; last && !s.AskOnly {
				t.Errorf("cover %q: far text is reported", cover)
			}
		}
		if !isFound {
			t.Errorf("cover %q: not found by %d sketches", cover, len(far.Sketches))
		}
	}
}

func TestEssenceOfImageReportsTheSame(t *testing.T) {
	sketches := imagesOf(vectorSet(t, "70"))
	if len(sketches) != 1 {
		t.Fatalf("%d sketches", len(sketches))
	}
	sketchtest.CheckEssence(t, sketches[0], 1)
	sketchtest.CheckEssence(t, sketches[0], 1, 2)
	if e := sketches[0].Essence(sketchtest.KeyedBy(1)); len(e.Anchors)+len(e.Keys) != sketchtest.MostOfImage {
		t.Errorf("%d anchors and %d keys", len(e.Anchors), len(e.Keys))
	}
	crafted := signature.Sketch{Kind: signature.KindImage, Anchors: make([]signature.Feature, 1000), Keys: make([]signature.Feature, 1000)}
	if e := crafted.Essence(); len(e.Anchors)+len(e.Keys) > sketchtest.MostOfImage {
		t.Errorf("crafted: %d anchors and %d keys", len(e.Anchors), len(e.Keys))
	}
}

func TestEssenceOfRealMailReportsTheSame(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	texts, images := 0, 0
	for i, m := range corpus(t) {
		if i%(5*scale) != 0 {
			continue
		}
		for _, s := range signature.Compute(signature.Parse(m.raw)).Sketches {
			sketchtest.CheckEssence(t, s, 1, 2)
			if s.Kind == signature.KindImage {
				images++
			} else {
				texts++
			}
		}
	}
	t.Logf("%d sketches of texts, %d of images", texts, images)
	if texts < 50 {
		t.Errorf("only %d sketches of texts", texts)
	}
}

// Words in a part that most programs do not show, other ones in each copy, do not keep the text that they show from being
// found. A letter there is not listed, and neither is the same text above another file of text each.
func TestUnshownWordsThinNoSketch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const html = "Content-Type: text/html\n"
	for name, with := range map[string]func(text, noise string) string{
		"first page of an alternative": func(text, noise string) string { return multi("alternative", html+"\n"+noise, html+"\n"+text) },
		"other text of an alternative": func(text, noise string) string {
			return multi("alternative", html+"\n"+text, "Content-Type: text/foo\n\n"+noise)
		},
		"another page of a related": func(text, noise string) string {
			return multi("related", html+"\n"+text, html+"Content-ID: <x>\n\n"+noise)
		},
		"inside another one of related": func(text, noise string) string { return multi("related", html+"\n"+text, multi("mixed", "\n"+noise)) },
		"hidden, too": func(text, noise string) string {
			return multi("related", html+"\n"+text+"<p hidden>"+noise, "\n"+noise)
		},
		"first of a related": func(text, noise string) string {
			return strings.Replace(multi("related", html+"\n"+noise, html+"Content-ID: <x>\n\n"+text), "; boundary", "; start=x; boundary", 1)
		},
		"a letter": func(text, noise string) string { return multi("related", html+"\n"+text, "\n"+noise+"\n"+ampleProse) },
	} {
		sign := func(text string) signature.Set {
			return signature.Compute(signature.Parse([]byte(with(text, lengthyFrom(rng, 3*len(strings.Fields(offer)))))))
		}
		first, other, alone := sign(offer), sign(offer), signature.Compute(signature.Parse([]byte(html+"\n"+offer)))
		if !finds(first, other) || !finds(alone, other) || !finds(first, alone) {
			t.Errorf("%s: another copy is found: %v; by a report without other words: %v; without other words: %v",
				name, finds(first, other), finds(alone, other), finds(first, alone))
		}
		if finds(first, signature.Compute(signature.Parse([]byte("\n"+ampleProse)))) {
			t.Errorf("%s: a letter in it is listed", name)
		}
	}
	notes := func() signature.Set {
		return signature.Compute(signature.Parse([]byte(multi("mixed", "\n"+prose, "Content-Disposition: inline; filename=a.patch\n\n"+lengthyFrom(rng, 300)))))
	}
	if finds(notes(), notes()) {
		t.Error("the same few words above another file of text are listed")
	}
}
