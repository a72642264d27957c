package credential

import "testing"

func FuzzParseTokens(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseTokens(text)
		if err != nil {
			if len(list) > 0 {
				t.Errorf("clients beside the error %v", err)
			}
			return
		}
		if len(list) > maxTokens {
			t.Errorf("%d clients", len(list))
		}
		for _, c := range list {
			if err := CheckClient(c.name); err != nil {
				t.Error(err)
			}
		}
	})
}
