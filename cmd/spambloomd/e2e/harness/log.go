package harness

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (s *Site) Log() string {
	text, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.T.Fatal(err)
	}
	return string(text)
}

// MessageLine is spambloomd's log line for a message.
type MessageLine struct {
	Msg       string
	QueueID   string `json:"queue_id"`
	MessageID string `json:"message_id"`
	Client    string
	Verdict   string
	Action    string
	Reason    string
	Count     int
}

// MessageLines returns the lines for messages so far, with all their fields, in order.
func (s *Site) MessageLines() (lines []map[string]any) {
	s.T.Helper()
	for text := range strings.Lines(s.Log()) {
		var line map[string]any
		if !strings.HasSuffix(text, "\n") {
			break // it is still being written
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			s.T.Fatalf("%v: %s", err, text)
		}
		if line["msg"] == "message" {
			lines = append(lines, line)
		}
	}
	return lines
}

// ReadyField returns a text field of the line that reports the daemon as ready.
func (s *Site) ReadyField(t testing.TB, name string) string {
	t.Helper()
	for line := range strings.Lines(s.Log()) {
		if JSONField(t, line, "msg") == "ready" {
			return JSONField(t, line, name)
		}
	}
	t.Fatalf("no line reads ready:\n%s", s.Log())
	return ""
}

// Warnings returns the lines of the log for administrators.
func (s *Site) Warnings() string {
	var b strings.Builder
	for line := range strings.Lines(s.Log()) {
		if !strings.Contains(line, `"level":"INFO"`) && !strings.Contains(line, `"level":"DEBUG"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// JSONField returns a text field of a log line, or "".
func JSONField(t testing.TB, line, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	value, _ := fields[name].(string)
	return value
}
