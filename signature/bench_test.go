package signature

import (
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
)

// BenchmarkCompute signs the mail of the corpus, one pass an iteration.
func BenchmarkCompute(b *testing.B) {
	var size int64
	var messages []Message
	for _, m := range corpus(b) {
		size += int64(len(m.raw))
		messages = append(messages, Parse(m.raw))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range messages {
			Compute(m)
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
			Parse(m.raw)
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
	var computers []*computer
	for _, m := range corpus(b) {
		c := new(computer)
		parsed := Parse(m.raw)
		c.begin(parsed)
		mail.Walk(parsed, nil, c.leaf)
		size += int64(len(m.raw))
		computers = append(computers, c)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range computers {
			c.links.Domains(&c.texts, nil, &c.work)
			c.links.Reset()
		}
	}
}
