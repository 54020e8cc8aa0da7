package mcpserver

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// hostList decides which Host a request may name. It is what stops a web page that has rebound its own domain to the gateway's address.
type hostList struct {
	names map[string]struct{} // lower case; with a port or without
}

func newHostList(listen string, allowed []string) (hostList, error) {
	l := hostList{names: map[string]struct{}{"localhost": {}}}
	if listen != "" {
		host, _, err := net.SplitHostPort(listen)
		if err != nil {
			return hostList{}, fmt.Errorf("mcpserver: listen address %q: want host:port", listen)
		}
		if host != "" {
			l.names[hostKey(host)] = struct{}{}
		}
	}
	for _, a := range allowed {
		if a == "" || strings.ContainsAny(a, "/@ *") {
			return hostList{}, fmt.Errorf("mcpserver: allowed host %q: want a name, or a name and a port", a)
		}
		if host, port, err := net.SplitHostPort(a); err == nil {
			l.names[net.JoinHostPort(hostKey(host), port)] = struct{}{}
		} else {
			l.names[hostKey(a)] = struct{}{}
		}
	}
	return l, nil
}

// allows takes the Host of a request. Loopback addresses are always allowed, in whatever form; the port matters only where the list names one.
func (l hostList) allows(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	name = hostKey(name)
	if name == "" {
		return false
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.Unmap().IsLoopback() {
		return true
	}
	if _, ok := l.names[name]; ok {
		return true
	}
	_, ok := l.names[net.JoinHostPort(name, port)]
	return ok && port != ""
}

func hostKey(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// originSet reads the allowed origins: scheme and host, perhaps a port, nothing else.
func originSet(origins []string) (map[string]struct{}, error) {
	set := make(map[string]struct{}, len(origins))
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(o, "*") || o != u.Scheme+"://"+u.Host {
			return nil, fmt.Errorf("mcpserver: allowed origin %q: want scheme://host or scheme://host:port", o)
		}
		set[originKey(o)] = struct{}{}
	}
	return set, nil
}

// originKey is the form origins are compared in: browsers send them in lower case and without the default port.
func originKey(o string) string {
	o = strings.ToLower(o)
	switch {
	case strings.HasPrefix(o, "https://"):
		return strings.TrimSuffix(o, ":443")
	case strings.HasPrefix(o, "http://"):
		return strings.TrimSuffix(o, ":80")
	}
	return o
}

// maxHostName is the longest name that DNS knows.
const maxHostName = 255

// shownHost is a Host header as it may be logged: a well-formed name or address, perhaps with a port, or "". Anything else is a stranger's text.
func shownHost(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch addr, err := netip.ParseAddr(name); {
	case len(name) > maxHostName || len(port) > 5 || strings.ContainsFunc(port, notDigit):
		return ""
	case err == nil && addr.Zone() == "":
		name = addr.String()
	default:
		for label := range strings.SplitSeq(name, ".") {
			if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInName) {
				return ""
			}
		}
	}
	switch {
	case port != "":
		return net.JoinHostPort(name, port)
	case strings.Contains(name, ":"):
		return "[" + name + "]"
	}
	return name
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

func notInName(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// shownOrigin is an Origin header as it may be logged: scheme and host of a web page, "null", or "".
func shownOrigin(origin string) string {
	if origin == "null" { // a page without an origin, such as a file: it cannot be allowed
		return origin
	}
	scheme, host, _ := strings.Cut(origin, "://")
	if name := shownHost(host); name != "" && (scheme == "http" || scheme == "https") {
		return scheme + "://" + name
	}
	return ""
}
