package evidence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Guard decides citations. It is safe for concurrent use.
type Guard struct {
	r        Reader
	replayer Replayer
}

// New makes a guard that reads through r: one read of the store for each citation.
func New(r Reader) *Guard { return &Guard{r: r} }

// WithReplay is a guard that also projects the stored raw answer again and compares.
func (g *Guard) WithReplay(r Replayer) *Guard { return &Guard{r: g.r, replayer: r} }

// VerifyURI decides an evidence:// URI. A malformed one is INVALID_CITATION; there is no error path beside the verdict.
func (g *Guard) VerifyURI(ctx context.Context, caller Caller, uri string) Verdict {
	c, ok := ParseURI(uri)
	if !ok {
		return rejected(c, InvalidCitation, Existence)
	}
	claims := []claim{{Citation: c}}
	if before, query, _ := strings.Cut(uri, "?"); strings.Contains(query, "+") {
		// A plus sign means a blank to a form and itself to whoever copies 10:00:00+08:00 into a URI.
		if plus, ok := ParseURI(before + "?" + strings.ReplaceAll(query, "+", "%2B")); ok {
			claims = append(claims, claim{Citation: plus})
		}
	}
	return g.verify(ctx, caller, claims)
}

// claim is a citation as it is decided: a quote may be held against the record in pieces as well.
type claim struct {
	Citation
	ordered []string // pieces around left-out words: all in one item, in this order
	lines   []string // lines of a > block: each somewhere in what is cited
}

func rejected(c Citation, r Reason, depth Checked) Verdict {
	return Verdict{Outcome: Rejected, Reason: r, Checked: depth, RunID: c.Run, ToolCallID: c.Call, Item: c.Item}
}

// Verify decides one citation. The record is read anew from the store; whatever cannot be read is not supported.
func (g *Guard) Verify(ctx context.Context, caller Caller, c Citation) Verdict {
	return g.verify(ctx, caller, []claim{{Citation: c}})
}

// verify decides claims about one record, read once: the first that is backed, else the first.
func (g *Guard) verify(ctx context.Context, caller Caller, claims []claim) Verdict {
	c := &claims[0].Citation
	if c.Stance == "" {
		c.Stance = StanceFound
	}
	if !c.wellFormed() || caller.Principal == "" {
		return rejected(*c, InvalidCitation, Existence)
	}
	if c.Run == canonical.CurrentRun && !canonical.Minted(c.Call) {
		if !canonical.ValidID(caller.Run) {
			return rejected(*c, InvalidCitation, Existence)
		}
		c.Run = caller.Run
	}
	inv, err := g.read(ctx, caller, *c)
	switch {
	case errors.Is(err, canonical.ErrNotFound):
		return c.beforeRecord(NotFound)
	case err != nil:
		return rejected(*c, StoreUnavailable, Existence)
	}
	switch x := inv.(type) {
	case canonical.Ready:
		if !x.Valid() {
			return c.beforeRecord(NotFound)
		}
		v := g.decide(claims[0], x)
		for _, other := range claims[1:] {
			if !v.Backed() {
				if w := g.decide(other, x); w.Backed() {
					v = w
				}
			}
		}
		return v
	case canonical.Projecting:
		return describe(c.beforeRecord(NotReady), inv)
	case canonical.Failed:
		return describe(c.beforeRecord(InvocationError), inv)
	default: // a type that only pretends to be an invocation
		return c.beforeRecord(NotFound)
	}
}

// beforeRecord rejects a citation that has no READY record to be held against. A short quote could only be valid as a whole cell of one, so it is invalid first.
func (c Citation) beforeRecord(r Reason) Verdict {
	if c.short() {
		r = InvalidCitation
	}
	return rejected(c, r, Existence)
}

func (g *Guard) read(ctx context.Context, caller Caller, c Citation) (canonical.Invocation, error) {
	if c.Run == canonical.CurrentRun {
		return g.r.FindCall(ctx, caller.Principal, c.Call)
	}
	k, err := canonical.NewKey(caller.Principal, c.Run, c.Call)
	if err != nil {
		return nil, canonical.ErrNotFound
	}
	return g.r.Load(ctx, k)
}

// describe fills in what the owner of a record may know about it, never its content.
func describe(v Verdict, inv canonical.Invocation) Verdict {
	rec := inv.Record()
	v.RunID, v.ToolCallID, v.Tool = rec.Run, rec.Call, rec.Tool
	v.InvocationStatus, v.EvidenceStatus = rec.State, rec.Evidence
	if !rec.CompletedAt.IsZero() {
		t := rec.CompletedAt.UTC()
		v.CompletedAt = &t
	}
	t := rec.ExpiresAt.UTC()
	v.ExpiresAt = &t
	return v
}

// decide holds a citation against a READY record, in the order of the reasons.
func (g *Guard) decide(c claim, rec canonical.Ready) Verdict {
	r := rec.Record()
	obs, err := readObservation(r.Observation)
	if err != nil {
		return rejected(c.Citation, StoreUnavailable, Existence)
	}
	sum := sha256.Sum256(r.Observation)
	digest := hex.EncodeToString(sum[:])
	v := describe(Verdict{Checked: Existence, Item: c.Item}, rec)
	v.Scope, v.Truncated, v.ObservationSHA = obs.scope, &r.Truncated, digest
	no := func(reason Reason, depth Checked) Verdict {
		v.Outcome, v.Reason, v.Checked = Rejected, reason, depth
		return v
	}

	it, cited, found := obs.pick(c.Item)
	text, hasField := "", false
	if c.Field != nil {
		if text, hasField = it.fields[*c.Field]; hasField {
			cited = []item{{texts: []string{text}, cells: it.cells}}
		}
	}
	if c.short() && !anyWholeCell(cited, *c.Quote) {
		return no(InvalidCitation, Existence)
	}
	if c.SHA256 != "" {
		if c.SHA256 != digest {
			return no(DigestMismatch, Content)
		}
		v.Checked = Content
	}
	if (c.Stance == StanceAbsent) == bool(rec.Evidence()) {
		return no(PolarityMismatch, Existence)
	}
	if c.Item != "" {
		if !found {
			return no(ItemNotFound, Item)
		}
		v.Checked = Item
	}
	if c.Field != nil {
		if !hasField {
			return no(ItemNotFound, Item)
		}
		if c.Value != nil && text != *c.Value && normalize(text) != normalize(*c.Value) {
			return no(ValueMismatch, Content)
		}
		if c.Value != nil {
			v.Checked = Content
		}
	}
	if c.Quote != nil {
		v.QuoteMatch = c.find(cited)
		if v.QuoteMatch == "" {
			return no(QuoteNotFound, Content)
		}
		v.Checked = Content
	}
	if g.replayer != nil {
		again, err := g.replayer.Replay(r)
		switch {
		case errors.Is(err, canonical.ErrOtherProjector):
			return no(ReplayUnavailable, Replay)
		case err != nil || !bytes.Equal(again, r.Observation):
			return no(ReplayMismatch, Replay)
		}
		v.Checked = Replay
	}
	v.Outcome, v.Reason = Supported, OK
	if c.Stance == StanceAbsent {
		v.Outcome = ScopedNegative
	}
	return v
}

// pick returns the item named, or all items when none is.
func (o *observation) pick(id string) (it item, cited []item, found bool) {
	if id != "" {
		it, found = o.items[id]
		if found {
			cited = []item{it}
		}
		return it, cited, found
	}
	for _, n := range o.order {
		cited = append(cited, o.items[n])
	}
	return item{}, cited, true
}

func anyWholeCell(items []item, text string) bool {
	for _, it := range items {
		if it.wholeCell(text) {
			return true
		}
	}
	return false
}

// find tells how the quote is found in what is cited, "" when it is not.
func (c claim) find(cited []item) string {
	if m := matchAny(cited, *c.Quote); m != "" {
		return m
	}
	if usable(cited, c.ordered) {
		for _, it := range cited {
			if it.matchInOrder(c.ordered) {
				return "NORMALIZED"
			}
		}
	}
	if usable(cited, c.lines) {
		for _, l := range c.lines {
			if matchAny(cited, l) == "" {
				return ""
			}
		}
		return "NORMALIZED"
	}
	return ""
}

// usable tells whether every piece of a quote is long enough to stand on its own, or one whole cell.
func usable(cited []item, pieces []string) bool {
	for _, p := range pieces {
		if width(p) < minQuote && !anyWholeCell(cited, p) {
			return false
		}
	}
	return len(pieces) > 0
}

// matchAny prefers an exact match over a normalised one.
func matchAny(items []item, quote string) string {
	best := ""
	for _, it := range items {
		switch it.match(quote) {
		case "EXACT":
			return "EXACT"
		case "NORMALIZED":
			best = "NORMALIZED"
		}
	}
	return best
}
