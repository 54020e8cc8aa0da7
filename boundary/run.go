package boundary

import (
	"encoding/json"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Kind is a class of names that a caller's grants may restrict.
type Kind string

// The kinds that a token may restrict.
const (
	Tools       Kind = "tools"
	Topics      Kind = "topics"
	Datasources Kind = "datasources"
	Collections Kind = "collections"
)

// Grants say what a caller may use. The zero value grants everything; a kind that is present grants only the names listed, none if the list is empty.
type Grants struct {
	allowed map[Kind]map[string]struct{}
}

// NewGrants restricts the kinds that are present in m.
func NewGrants(m map[Kind][]string) Grants {
	g := Grants{}
	for k, names := range m {
		if names == nil {
			continue
		}
		if g.allowed == nil {
			g.allowed = make(map[Kind]map[string]struct{}, len(m))
		}
		set := make(map[string]struct{}, len(names))
		for _, n := range names {
			set[n] = struct{}{}
		}
		g.allowed[k] = set
	}
	return g
}

// Allows tells whether name of kind k may be used.
func (g Grants) Allows(k Kind, name string) bool {
	set, restricted := g.allowed[k]
	if !restricted {
		return true
	}
	_, ok := set[name]
	return ok
}

// Filter keeps the names that are allowed, in their order.
func (g Grants) Filter(k Kind, names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		if g.Allows(k, n) {
			out = append(out, n)
		}
	}
	return out
}

// Run is what the gateway has established about a call: who calls and in which run. It is made by the harness from authenticated facts, never from the
// envelope. Exactly one of ID and Slot is set.
type Run struct {
	Principal string
	ID        string // an explicit run id
	Slot      string // an implicit run: the store finds or opens it
	MintRun   string // the id a run opened through Slot gets
	Grants    Grants
	Spec      *canonical.RunSpec // how an unknown run is opened; nil: only registered runs exist
	Ceilings  canonical.Ceilings
	// Refusal, when set, ends the call in preflight: the sources of the run id differed or were malformed.
	Refusal error
}

// Envelope is what the client claims about a call. All of it is untrusted.
type Envelope struct {
	RunID      string // run claimed beside the established one; must agree with it when both are explicit
	CallID     string // the harness's own tool_call_id, or "" to have one minted
	HostCallID string // an id of the host that may recycle; metadata only
	StepID     string
	Tool       string
	Args       json.RawMessage
}

// Identity is what a transport knows about where a request came from: authenticated facts first, then what the request says of its run.
type Identity struct {
	Principal    string // token name, OIDC issuer and subject, or "local:<os user>"
	Grants       Grants
	Binding      string // run the token or the process is bound to
	Header       string // Mcp-Gateway-Run
	Meta         string // _meta["dev.mcp-gateway/run-id"]
	Conversation string // the host's conversation key, unhashed, with the name of the key in front
	Process      string // nonce of a stdio or command line process; "" over HTTP
}
