package boundary

import (
	"context"
	"time"
)

// Tracer follows calls for an operator. Like audit it is told metadata only, and it must not block.
type Tracer interface {
	// Trace begins the trace of one attempt. The tool runs under the context that it returns, which must carry all that ctx carries.
	Trace(ctx context.Context, began time.Time) (context.Context, Trace)
}

// Trace is one attempt; its methods are called one after the other.
type Trace interface {
	// Stage begins open, execute, project or close; the function it returns ends it.
	Stage(name string) (end func())
	// End is told what audit is told, once, when the attempt is over.
	End(AuditRecord)
}

// follow begins the trace. A call without a Tracer has none.
func (c *call) follow(ctx context.Context) (traced context.Context) {
	traced = ctx
	if c.b.o.Tracer != nil {
		defer c.unharmed("trace")
		traced, c.trace = c.b.o.Tracer.Trace(ctx, c.began)
	}
	return traced
}

func (c *call) stage(name string) (end func()) {
	end = func() {}
	if c.trace != nil {
		defer c.unharmed("trace")
		stop := c.trace.Stage(name)
		end = func() {
			defer c.unharmed("trace")
			stop()
		}
	}
	return end
}

func (c *call) endTrace(r AuditRecord) {
	if c.trace != nil {
		defer c.unharmed("trace")
		c.trace.End(r)
	}
}
