// Package harness owns the runs: which run a request belongs to, what a run may spend, when it should stop. It turns authenticated facts into boundary.Run values
// and administers runs in the canonical store, so that all replicas agree. What it knows of a call (the control view) is for the harness's operator and never for
// the model.
package harness

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Policy says how runs come to be and what a principal may hold. The zero Policy in registered mode lets nothing run.
type Policy struct {
	Mode     canonical.Mode
	Defaults canonical.RunSpec // of implicit runs
	Ceilings canonical.Ceilings
}

// DefaultPolicy is that of docs/design.md section 9.
func DefaultPolicy() Policy {
	return Policy{
		Mode: canonical.Implicit,
		Defaults: canonical.RunSpec{TTL: 2 * time.Hour,
			Limits: canonical.Limits{Calls: 200, RequestBytes: 1 << 20, RawBytes: 256 << 20, ObservationBytes: 2 << 20},
			NoGain: canonical.NoGain{Limit: 8, Window: 10}},
		Ceilings: canonical.Ceilings{OpenRuns: 256, CallsPerMinute: 600, LiveBytes: 512 << 20},
	}
}

// Runs resolves identities to runs and remembers which runs this process has served. It is a boundary.Controller: bind it to the boundary whose calls it resolves.
type Runs struct {
	policy Policy
	driver canonical.Driver

	mu      sync.Mutex
	served  map[string]*servedRuns // by principal
	offered offers
}

type servedRuns struct {
	last  string
	count int
	slots []string // runs opened through a process slot, oldest first, to be closed with the process
}

const (
	// maxServed bounds what is remembered of principals; past it "current" needs an explicit run.
	maxServed = 4096
	// maxSlots bounds the runs to close with the process. A process has one at a time; older ones have expired.
	maxSlots = 64
	// maxOffers bounds the ids minted for calls that may be under way.
	maxOffers = 512
)

// offers are the run ids minted lately for this process, newest over oldest. One that a call then ran in was opened here, and nobody else can have named it before.
type offers struct {
	ring [maxOffers]string
	next int
	set  map[string]struct{}
}

func (o *offers) add(run string) {
	if o.set == nil {
		o.set = map[string]struct{}{}
	}
	delete(o.set, o.ring[o.next])
	o.ring[o.next] = run
	o.set[run] = struct{}{}
	o.next = (o.next + 1) % maxOffers
}

// New makes the registry over a store.
func New(d canonical.Driver, p Policy) *Runs {
	return &Runs{policy: p, driver: d, served: map[string]*servedRuns{}}
}

var (
	errDiffer  = errors.New("two sources name different runs")
	errMissing = errors.New("no run named in registered mode")
)

// Resolve finds the run of a request: binding, header, meta, then, in implicit mode, the host's conversation or one run per principal or process. Two explicit
// sources that differ make a Run with a RUN_MISMATCH refusal; it does no I/O, so an unknown run is found out at OPEN.
func (r *Runs) Resolve(id boundary.Identity) boundary.Run {
	run := boundary.Run{Principal: id.Principal, Grants: id.Grants, Ceilings: r.policy.Ceilings}
	if r.policy.Mode == canonical.Implicit {
		spec := r.policy.Defaults
		run.Spec = &spec
	}
	for _, source := range []string{id.Binding, id.Header, id.Meta} {
		switch {
		case source == "":
		case !canonical.ValidID(source):
			_, err := canonical.NewRunKey(id.Principal, source)
			if run.Refusal == nil {
				run.Refusal = err
			}
		case run.ID == "":
			run.ID = source
		case run.ID != source:
			run.Refusal = fault.New(fault.RunMismatch, "harness.Resolve", errDiffer)
		}
	}
	if run.ID != "" || run.Refusal != nil {
		return run
	}
	if r.policy.Mode != canonical.Implicit {
		run.Refusal = fault.New(fault.RunNotActive, "harness.Resolve", errMissing).WithHint("name a run that the harness has opened: header Mcp-Gateway-Run or _meta dev.mcp-gateway/run-id")
		return run
	}
	run.MintRun = boundary.MintRunID()
	switch {
	case id.Conversation != "":
		run.Slot = "c-" + digest(id.Conversation)
	case id.Process != "":
		run.Slot = processSlot + digest(id.Process)
		r.mu.Lock()
		r.offered.add(run.MintRun)
		r.mu.Unlock()
	default:
		run.Slot = "default"
	}
	return run
}

const processSlot = "p-"

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return lower32.EncodeToString(sum[:15])
}

// Current is the run that "current" stands for in a citation: the explicit one, else the only run that this process has served for the principal, else "".
func (r *Runs) Current(principal, explicit string) string {
	if explicit != "" {
		return explicit
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.served[principal]; s != nil && s.count == 1 {
		return s.last
	}
	return ""
}

// Observe notes the run of a call.
func (r *Runs) Observe(v boundary.ControlView) {
	if v.Run == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.served[v.Principal]
	if s == nil {
		if len(r.served) >= maxServed {
			return
		}
		s = &servedRuns{}
		r.served[v.Principal] = s
	}
	if s.last != v.Run {
		s.last = v.Run
		s.count++
	}
	if _, ours := r.offered.set[v.Run]; ours && !slices.Contains(s.slots, v.Run) {
		if len(s.slots) == maxSlots {
			s.slots = slices.Delete(s.slots, 0, 1)
		}
		s.slots = append(s.slots, v.Run)
	}
}

// EndProcess closes the runs that were minted for this process. Their records stay until their own deadline. A run that the process was told, by a binding, a header
// or a host's conversation, may go on elsewhere and stays open.
func (r *Runs) EndProcess(ctx context.Context) error {
	r.mu.Lock()
	var keys []canonical.RunKey
	for principal, s := range r.served {
		for _, run := range s.slots {
			if k, err := canonical.NewRunKey(principal, run); err == nil {
				keys = append(keys, k)
			}
		}
	}
	r.mu.Unlock()
	var errs []error
	for _, k := range keys {
		if err := r.driver.CloseRun(ctx, k); err != nil && fault.CodeOf(err) != fault.RunNotActive {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

var _ boundary.Controller = (*Runs)(nil)
