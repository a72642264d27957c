// Package socket parses the addresses for listening and dialling, and listens on them. It
// owns the syntax of addresses and the handling of unix sockets in the file system (stale
// ones, mode, group). It does not own the protocols on a connection.
//
//	inet:8899@127.0.0.1      Sendmail's order
//	inet:127.0.0.1:8899      Postfix's order
//	inet6:8899@[::1]         or inet6:[::1]:8899
//	127.0.0.1:8899           TCP without a prefix
//	unix:/run/spambloom.sock also local:PATH, or a bare absolute path
package socket

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxPath is the longest path that fits into sockaddr_un of Linux with its closing NUL.
const maxPath = 107

// ErrForm is returned by Parse for an address of an unknown form. A caller that accepts
// fewer forms should return its own error.
var ErrForm = errors.New("want inet:PORT@HOST, inet:HOST:PORT, inet6:PORT@[ADDR], unix:PATH or local:PATH")

// Parse splits a spec into the network ("tcp4", "tcp6" or "unix") and the address for
// package net. Port 0 means any free port. A host is required, so that a forgotten host
// does not mean all interfaces.
func Parse(spec string) (network, address string, err error) {
	network, address, err = parse(spec)
	if err != nil {
		return "", "", fmt.Errorf("address %q: %w", spec, err)
	}
	return network, address, nil
}

// ParseUnix returns the path of an address that must be a unix socket.
func ParseUnix(spec string) (path string, err error) {
	scheme, _, _ := strings.Cut(spec, ":")
	if scheme != "unix" && scheme != "local" && !strings.HasPrefix(spec, "/") {
		return "", fmt.Errorf("address %q: want unix:PATH", spec)
	}
	_, path, err = Parse(spec)
	return path, err
}

func parse(spec string) (network, address string, err error) {
	if strings.HasPrefix(spec, "/") {
		return parseUnix(spec)
	}
	scheme, rest, _ := strings.Cut(spec, ":")
	switch scheme {
	case "unix", "local":
		return parseUnix(rest)
	case "inet", "inet6":
		return parseInet(scheme, rest)
	}
	if strings.Contains(spec, ":") && !strings.ContainsAny(spec, "@/") {
		return parseInet("inet", spec)
	}
	return "", "", ErrForm
}

func parseUnix(path string) (network, address string, err error) {
	switch {
	case path == "":
		return "", "", errors.New("no path")
	case len(path) > maxPath:
		return "", "", fmt.Errorf("path of %d bytes, limit %d for a unix socket", len(path), maxPath)
	case path[0] == '@' || strings.ContainsRune(path, 0):
		// Abstract sockets have no owner and no mode: any user could connect.
		return "", "", errors.New("abstract unix sockets are not supported")
	}
	return "unix", path, nil
}

func parseInet(scheme, rest string) (network, address string, err error) {
	host, port, err := hostPort(rest)
	if err != nil {
		return "", "", err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", "", fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	network = "tcp4"
	if scheme == "inet6" {
		network = "tcp6"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		err = checkName(host)
	case ip.Is4() && scheme == "inet6":
		err = fmt.Errorf("%s is not an IPv6 address", host)
	case ip.Is6():
		network = "tcp6" // Postfix also writes inet:[::1]:8899
	}
	if err != nil {
		return "", "", err
	}
	if network == "tcp6" {
		host = "[" + host + "]"
	}
	return network, host + ":" + port, nil
}

// hostPort splits PORT@HOST and HOST:PORT. An IPv6 address must be in brackets, which are
// optional in PORT@ADDR.
func hostPort(s string) (host, port string, err error) {
	port, host, at := strings.Cut(s, "@")
	if !at {
		i := strings.LastIndexByte(s, ':')
		if i < 0 {
			return "", "", fmt.Errorf("no host; %w", ErrForm)
		}
		host, port = s[:i], s[i+1:]
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			return "", "", errors.New("an IPv6 address must be in brackets: [ADDR]:PORT")
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(inner, "]")
		if ip, err := netip.ParseAddr(host); !ok || err != nil || !ip.Is6() {
			return "", "", errors.New("brackets are for an IPv6 address: [ADDR]")
		}
	}
	if host == "" {
		return "", "", errors.New("no host; for all interfaces write 0.0.0.0 or [::]")
	}
	return host, port, nil
}

// checkName rejects invalid host names, so that a typing error is not passed to the
// resolver.
func checkName(host string) error {
	for _, r := range host {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && !(r >= '0' && r <= '9') && !strings.ContainsRune("-._", r) {
			return fmt.Errorf("host %q: %q is not allowed in a host name", host, r)
		}
	}
	if strings.Trim(host, "0123456789.") == "" {
		return fmt.Errorf("%s is not an IPv4 address", host)
	}
	return nil
}
