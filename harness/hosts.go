package harness

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// hosts decides which Host a request may name: it is what stops a web page that has rebound its own domain to the API's address. Loopback addresses are always fine,
// and so is the very address that the connection arrived at (a probe or a scraper that knows the machine by number only): a number cannot be rebound.
type hosts map[string]struct{}

func newHosts(allowed []string) hosts {
	h := hosts{"localhost": {}}
	for _, a := range allowed {
		if name, port, err := net.SplitHostPort(a); err == nil && name != "" {
			h[net.JoinHostPort(hostKey(name), port)] = struct{}{}
		} else if err != nil && a != "" {
			h[hostKey(a)] = struct{}{}
		}
	}
	return h
}

func (h hosts) allows(r *http.Request) bool {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		name, port = r.Host, ""
	}
	name = hostKey(name)
	if name == "" {
		return false
	}
	if addr, err := netip.ParseAddr(name); err == nil && (addr.Unmap().IsLoopback() || arrivedAt(r, addr)) {
		return true
	}
	if _, ok := h[name]; ok {
		return true
	}
	_, ok := h[net.JoinHostPort(name, port)]
	return ok && port != ""
}

func arrivedAt(r *http.Request, addr netip.Addr) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap() == addr.Unmap()
}

func hostKey(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// fromBrowser tells a request that a web page made. No page has business here. Origin is sent with every request that could change something; Sec-Fetch-Site also
// with those for an image or a script. "none" is a person who typed the address.
func fromBrowser(r *http.Request) bool {
	if len(r.Header.Values("Origin")) > 0 {
		return true
	}
	for _, v := range r.Header.Values("Sec-Fetch-Site") {
		if v != "none" {
			return true
		}
	}
	return false
}
