package filestore

import (
	"encoding/json"
	"errors"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/seal"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
)

var errKind = errors.New("filestore: a stored value has an unknown kind")

// seal gives the stored form of a value. place begins with the run.
func (t *tx) seal(value []byte, place ...string) []byte {
	return t.s.ring.Seal(nil, 0, value, append([]string{t.owner}, place...)...)
}

// unseal gives back a value; an absent or empty one is nil.
func (t *tx) unseal(stored []byte, place ...string) ([]byte, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	kind, value, err := t.s.ring.Open(stored, append([]string{t.owner}, place...)...)
	if err == nil && kind != 0 {
		err = errKind
	}
	if err != nil || len(value) == 0 {
		return nil, err
	}
	return value, nil
}

// runState is the part of a run that no query asks for.
type runState struct {
	Mode   canonical.Mode   `json:"m"`
	Salt   []byte           `json:"k"`
	Limits canonical.Limits `json:"l"`
	Used   canonical.Limits `json:"u"`
	NoGain canonical.NoGain `json:"n"`
	Tools  []string         `json:"t"`
	Window []steps.Counted  `json:"w"`
	Scopes []scopeState     `json:"s"`
}

type scopeState struct {
	ID   []byte `json:"i"`
	Text []byte `json:"t"` // sealed
}

func (t *tx) marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.fail(err)
	}
	return b
}

func (t *tx) packRun(r *steps.Run) []byte {
	s := runState{Mode: r.Mode, Salt: r.Salt[:], Limits: r.Limits, Used: r.Used, NoGain: r.NoGain, Tools: r.Tools, Window: r.Window}
	for _, sc := range r.Scopes {
		s.Scopes = append(s.Scopes, scopeState{[]byte(sc.ID), t.seal([]byte(sc.Text), r.ID, "scope")})
	}
	return t.marshal(s)
}

func (t *tx) unpackRun(r *steps.Run, state []byte) error {
	var s runState
	if err := json.Unmarshal(state, &s); err != nil {
		return err
	}
	r.Mode, r.Limits, r.Used, r.NoGain, r.Tools, r.Window = s.Mode, s.Limits, s.Used, s.NoGain, s.Tools, s.Window
	copy(r.Salt[:], s.Salt)
	for _, sc := range s.Scopes {
		// A scope that no configured key opens is left out: it is help, not evidence.
		if text, err := t.unseal(sc.Text, r.ID, "scope"); err == nil {
			r.Scopes = append(r.Scopes, steps.Scope{ID: string(sc.ID), Text: string(text)})
		}
	}
	return nil
}

// callState is one call of a run. Scope texts, which may hold words of a query, and the control data are sealed.
type callState struct {
	Nonce   string             `json:"n"`
	Grant   canonical.Grant    `json:"g"` // without salt and scopes
	Salt    []byte             `json:"k"`
	Scopes  [][]byte           `json:"gs"`
	Info    canonical.CallInfo `json:"i"` // without scope and control
	ScopeID []byte             `json:"si"`
	Scope   []byte             `json:"s"`
	Control []byte             `json:"c"`
}

func (t *tx) packCall(run string, c *steps.Call) []byte {
	s := callState{Nonce: c.Nonce, Grant: c.Grant, Salt: c.Grant.Salt[:], Info: c.Info, ScopeID: []byte(c.Info.ScopeID)}
	s.Grant.Salt, s.Grant.Scopes, s.Info.ScopeID, s.Info.Scope, s.Info.Control = canonical.Salt{}, nil, "", "", nil
	for _, text := range c.Grant.Scopes {
		s.Scopes = append(s.Scopes, t.seal([]byte(text), run, "scope"))
	}
	if c.Info.Scope != "" {
		s.Scope = t.seal([]byte(c.Info.Scope), run, "scope")
	}
	if c.Info.Control != nil {
		s.Control = t.seal(c.Info.Control, run, c.Info.Call, "control")
	}
	return t.marshal(s)
}

func (t *tx) unpackCall(run string, state []byte) (*steps.Call, error) {
	var s callState
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, err
	}
	c := &steps.Call{Nonce: s.Nonce, Grant: s.Grant, Info: s.Info}
	copy(c.Grant.Salt[:], s.Salt)
	for _, text := range s.Scopes {
		if b, err := t.unseal(text, run, "scope"); err == nil {
			c.Grant.Scopes = append(c.Grant.Scopes, string(b))
		}
	}
	c.Info.ScopeID = string(s.ScopeID)
	scope, err := t.help(s.Scope, run, "scope")
	if err != nil {
		return nil, err
	}
	c.Info.Scope = string(scope)
	c.Info.Control, err = t.help(s.Control, run, c.Info.Call, "control")
	return c, err
}

// help reads what describes a call and is no evidence. A run may outlive the records that an old key was kept for: what no configured key opens is left out.
func (t *tx) help(stored []byte, place ...string) ([]byte, error) {
	v, err := t.unseal(stored, place...)
	if errors.Is(err, seal.ErrNoKey) {
		return nil, nil
	}
	return v, err
}
