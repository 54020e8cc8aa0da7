package mcpserver

import (
	"net/http"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// wellKnown is where RFC 9728 puts a protected resource's metadata; the resource's own path may follow.
const wellKnown = "/.well-known/oauth-protected-resource"

// isMetadata tells a request for the metadata. It needs no token: a client reads it to learn where to get one.
func (s *Server) isMetadata(r *http.Request) bool {
	return len(s.o.HTTP.AuthServers) > 0 && r.Method == http.MethodGet && (r.URL.Path == wellKnown || r.URL.Path == wellKnown+s.o.HTTP.Path)
}

// base is this server as the client addresses it. The Host was held against the allowlist before.
func (s *Server) base(r *http.Request) string {
	if s.o.HTTP.Secure {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// metadataURL is what a 401 names, or "".
func (s *Server) metadataURL(r *http.Request) string {
	switch {
	case s.o.HTTP.ResourceMetadata != "":
		return s.o.HTTP.ResourceMetadata
	case len(s.o.HTTP.AuthServers) > 0:
		return s.base(r) + wellKnown + s.o.HTTP.Path
	}
	return ""
}

func (s *Server) writeMetadata(w http.ResponseWriter, r *http.Request) {
	b, err := strictjson.Encode(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Methods  []string `json:"bearer_methods_supported"`
	}{s.base(r) + s.o.HTTP.Path, s.o.HTTP.AuthServers, []string{"header"}})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mimeJSON)
	w.Write(b)
}
