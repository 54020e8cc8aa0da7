package mcpserver

import (
	"context"
	"slices"
	"testing"
)

// A client may say twice which trace a call belongs to: the message, which the model's host wrote, goes before the HTTP header, which any proxy may have.
func TestTheTraceOfTheMessageGoesBeforeThatOfTheHeader(t *testing.T) {
	t.Parallel()
	var joined []string
	r := newRig(t, func(o *Options) {
		o.Join = func(ctx context.Context, parent string) context.Context {
			joined = append(joined, parent)
			return ctx
		}
	})
	h := r.Handler()
	for _, c := range []struct {
		meta, header string
		want         []string // the last one holds
	}{
		{"", "", []string{""}},
		{"", "from-header", []string{"from-header"}},
		{`"traceparent":"from-meta"`, "from-header", []string{"from-header", "from-meta"}},
		{`"traceparent":7`, "from-header", []string{"from-header"}},
	} {
		joined = nil
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + c.meta + `}}}`
		if w := post(t, h, body, "Traceparent", c.header); w.Code != 200 || !slices.Equal(joined, c.want) {
			t.Errorf("%+v: status %d, joined %q", c, w.Code, joined)
		}
	}
}
