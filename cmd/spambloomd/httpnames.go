package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// onlyFor answers requests whose Host is an address or one of the names, and rejects others
// with 421 (RFC 9110, section 15.5.20).
func onlyFor(names []string, next http.Handler) http.Handler {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[strings.ToLower(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); host == "" || isAddress(host) || known[host] {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, "this is not a name of this server: add it to http.names", http.StatusMisdirectedRequest)
	})
}

// hostOf returns the Host field without port, in lower case. It is empty for a client of
// HTTP/1.0 that sends none; browsers always send one.
func hostOf(field string) string {
	host, _, err := net.SplitHostPort(field)
	if err != nil {
		host = field
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
