package boundary

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

var errNoContent = errors.New("boundary: the record holds no raw answer")

// Replay projects the stored request and raw answer of a READY record again and returns the observation that results. It does no I/O. A record of an unknown
// tool or of another projector version is canonical.ErrOtherProjector. A panic of a projector is an error.
func (b *Boundary) Replay(rec canonical.Record) (observation []byte, err error) {
	t, ok := b.tools[rec.Tool]
	if !ok || t.spec.Projector != rec.Projector {
		return nil, canonical.ErrOtherProjector
	}
	if rec.State != canonical.StateReady || len(rec.Raw) == 0 {
		return nil, errNoContent
	}
	var sr storedRequest
	if err := json.Unmarshal(rec.Request, &sr); err != nil {
		return nil, fmt.Errorf("boundary: stored request: %w", err)
	}
	p, err := guarded(&call{b: b, tool: rec.Tool}, "replay", func() (projected, error) {
		ans, err := t.t.restore(sr.Request, rec.Raw)
		if err != nil {
			return projected{}, err
		}
		return ans.project(View{Salt: rec.Salt, MaxBytes: bodyRoom(sr.MaxObservation, rec.Run, rec.Call)})
	})
	if err != nil {
		return nil, err
	}
	return compose(rec.Run, rec.Call, p), nil
}
