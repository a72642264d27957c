package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDomainsOfRequest(t *testing.T) {
	many := make([]string, maxDomains+1)
	for i := range many {
		many[i] = fmt.Sprintf("d%d.example", i)
	}
	for _, c := range []struct {
		domains []string
		fault   string // "": none
	}{
		{nil, ""},
		{[]string{"example.com", "me.github.io", "[203.0.113.7]", "xn--bcher-kva.example"}, ""},
		{many[:maxDomains], ""},
		{many, "17 domains; at most 16"},
		{[]string{"example.com", "www.example.com"}, "domain 2"},
		{[]string{"Example.com"}, "domain 1"},
		{[]string{""}, "domain 1"},
		{[]string{"co.uk"}, "domain 1"},
		{[]string{"[127.0.0.1]"}, "domain 1"},
		{[]string{"bücher.example"}, "domain 1"},
		{[]string{strings.Repeat("a", 300)}, "300 bytes"},
		{[]string{"example.com", "example.com"}, "twice"},
	} {
		got, err := Request{Domains: c.domains}.Read()
		switch {
		case c.fault == "" && (err != nil || !slices.Equal(got.Domains, c.domains)):
			t.Errorf("%q: %q, %v", c.domains, got.Domains, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%.40q: %v, want %q", c.domains, err, c.fault)
		}
	}
}
