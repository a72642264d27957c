package signature_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/links"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/visible"
)

// BenchmarkCompute signs the mail of the corpus, one pass an iteration.
func BenchmarkCompute(b *testing.B) {
	var size int64
	var messages []signature.Message
	for _, m := range corpus(b) {
		size += int64(len(m.raw))
		messages = append(messages, signature.Parse(m.raw))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range messages {
			signature.Compute(m)
		}
	}
	perMessage(b, len(messages))
}

// BenchmarkParse splits the mail of the corpus, one pass an iteration.
func BenchmarkParse(b *testing.B) {
	mails := corpus(b)
	var size int64
	for _, m := range mails {
		size += int64(len(m.raw))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range mails {
			signature.Parse(m.raw)
		}
	}
	perMessage(b, len(mails))
}

func perMessage(b *testing.B, messages int) {
	b.ReportMetric(float64(messages)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkLinks finds the links of the corpus' text parts, which have been read.
func BenchmarkLinks(b *testing.B) {
	var size int64
	var all []*visible.Texts
	for _, m := range corpus(b) {
		parsed, texts := signature.Parse(m.raw), new(visible.Texts)
		texts.Begin(parsed.Header, 0, nil)
		mail.Walk(parsed, nil, func(l mail.Leaf) {
			if texts.Note(l); visible.IsText(l) {
				texts.Add(l, l.Content(nil))
			}
		})
		size += int64(len(m.raw))
		all = append(all, texts)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var finder links.Finder
	for b.Loop() {
		for _, texts := range all {
			finder.Domains(texts, nil, nil)
			finder.Reset()
		}
	}
}
