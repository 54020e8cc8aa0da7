package filestore

import (
	"encoding/json"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
)

// Record reads what CLOSE needs: no content.
func (t *tx) Record(run, call string) (*steps.Record, bool) {
	rec := &steps.Record{Record: canonical.Record{Run: run, Call: call}}
	var answer []byte
	var started, expires int64
	if !t.row(getRecord, []any{t.owner, run, call, t.now}, &rec.Gen, &rec.Nonce, &rec.RequestLen, &rec.Target, &answer, &rec.State, &started, &expires) {
		return nil, false
	}
	if answer != nil {
		if err := json.Unmarshal(answer, &rec.Closed); err != nil {
			t.fail(err)
			return nil, false
		}
	}
	rec.StartedAt, rec.ExpiresAt = steps.At(started), steps.At(expires)
	return rec, true
}

func (t *tx) AddRecord(r *steps.Record) {
	t.exec(addRecord, t.owner, r.Run, r.Call, r.Gen, r.Nonce, string(r.State), r.Tool, t.seal(r.Request, r.Run, r.Call, "request"), r.RequestLen, r.Salt[:], r.Projector,
		r.StartedAt.UnixMilli(), r.ExpiresAt.UnixMilli())
}

func (t *tx) Finish(r *steps.Record) {
	var raw, obs []byte
	if r.State == canonical.StateReady {
		raw, obs = t.seal(r.Raw, r.Run, r.Call, "raw"), t.seal(r.Observation, observation(r.Run, r.Call, r.Evidence, r.Truncated)...)
	}
	t.exec(setRecord, r.Target, t.marshal(r.Closed), string(r.State), r.Evidence, r.Code, raw, obs, r.Truncated, r.CompletedAt.UnixMilli(), t.owner, r.Run, r.Call)
}

// observation is the place of one: what it found and whether it is all are sealed with it, so that neither can be changed beside it.
func observation(run, call, evidence string, truncated bool) []string {
	return []string{run, call, "observation", evidence, strconv.FormatBool(truncated)}
}

// load reads a whole record.
func (t *tx) load(run, call string) (rec canonical.Record, found bool) {
	rec = canonical.Record{Run: run, Call: call}
	var request, raw, obs, salt []byte
	var started, completed, expires int64
	if !t.row(readRecord, []any{t.owner, run, call, t.now}, &rec.Tool, &rec.State, &rec.Evidence, &rec.Code, &request, &raw, &obs, &rec.Truncated, &salt, &rec.Projector, &started, &completed, &expires) {
		return canonical.Record{}, false
	}
	for _, v := range []struct {
		to     *[]byte
		stored []byte
		place  []string
	}{{&rec.Request, request, []string{run, call, "request"}}, {&rec.Raw, raw, []string{run, call, "raw"}}, {&rec.Observation, obs, observation(run, call, rec.Evidence, rec.Truncated)}} {
		value, err := t.unseal(v.stored, v.place...)
		if err != nil {
			t.fail(err)
			return canonical.Record{}, false
		}
		*v.to = value
	}
	copy(rec.Salt[:], salt)
	rec.StartedAt, rec.ExpiresAt = steps.At(started), steps.At(expires)
	if completed != 0 {
		rec.CompletedAt = steps.At(completed)
	}
	return rec, true
}
