package verb

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := &Progress{w: &w}
	for range Many {
		p.Add()
	}
	if w.Len() != 0 {
		t.Errorf("a bar for %d messages: %q", Many, w.String())
	}
	p.Add()
	if !strings.Contains(w.String(), "messages") || !strings.Contains(w.String(), "21") {
		t.Errorf("no bar for %d messages: %q", Many+1, w.String())
	}
	p.Finish()
	quiet := &Progress{}
	for range 100 {
		quiet.Add()
	}
	quiet.Finish()
}
