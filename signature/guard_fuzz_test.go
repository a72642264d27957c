package signature

import (
	"testing"
)

// Whatever the text, boilerplate is found within it, in order, and what is left is
// never longer.
func FuzzBoilerplate(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		c := computers.Get().(*computer)
		defer c.release()
		walk(Message{Body: []byte(text)}, true, c.leaf)
		visible := c.visibleText()
		end := 0
		for _, s := range boilerplateIn(visible, boilerplate()) {
			if s.start < end || s.end <= s.start || s.end > len(visible) {
				t.Fatalf("%v after %d, of %d bytes", s, end, len(visible))
			}
			end = s.end
		}
		hasCode([]byte(text))
		c.words.markBoilerplate()
	})
}
