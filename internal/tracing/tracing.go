// Package tracing tells an OpenTelemetry collector of calls: one trace a call, with its stages. It promises: a span holds names of tools and stages, ids, codes,
// sizes and times, what audit holds and nothing else, so no content can be in one; a caller's own trace is continued by its ids alone; a collector that is slow,
// dead or full costs spans and never a call.
//
// It is configured by the standard environment of OpenTelemetry SDKs (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) and off
// without an endpoint there.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// Tracer is a boundary.Tracer that sends its spans to a collector. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New reads the environment. It returns nil where that asks for no traces, and an error, one sentence, where it asks for what this gateway does not speak. It does
// no I/O.
func New(ctx context.Context, getenv func(string) string, version string, log *slog.Logger) (*Tracer, error) {
	on, err := wanted(getenv)
	if !on || err != nil {
		return nil, err
	}
	// No retries: spans are not worth the memory that they wait in, nor the end of a process.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, errors.New("the OTEL_EXPORTER_OTLP_* variables cannot be used: check the endpoint, the headers and the certificate files that they name")
	}
	// The defaults come first: what the environment says (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) goes before them.
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "mcp-gateway"), attribute.String("service.version", version)), resource.WithTelemetrySDK(),
		resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES cannot be read: write key=value,key=value")
	}
	otel.SetErrorHandler(&quiet{log: log})
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	return &Tracer{provider: p, tracer: p.Tracer("github.com/seed-069badc9/mcp-gateway")}, nil
}

// wanted tells whether the environment asks for traces.
func wanted(getenv func(string) string) (bool, error) {
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	exporter := strings.ToLower(getenv("OTEL_TRACES_EXPORTER"))
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: traces go out as otlp or none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch p := getenv(name); p {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, fmt.Errorf("%s is %q: traces go out as http/protobuf, which collectors take on port 4318", name, p)
		}
	}
	return true, nil
}

// Shutdown sends what is left, within ctx.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Join makes ctx continue the trace of a W3C traceparent. A malformed one is ignored; a tracestate, which is free text, is never read.
func Join(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// Trace begins the span of a call.
func (t *Tracer) Trace(ctx context.Context, began time.Time) (context.Context, boundary.Trace) {
	ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	return ctx, &call{tracer: t.tracer, ctx: ctx, span: span}
}

// method is what MCP calls a call.
const method = "tools/call"

// call is a boundary.Trace.
type call struct {
	tracer trace.Tracer
	ctx    context.Context
	span   trace.Span
}

func (c *call) Stage(name string) func() {
	_, span := c.tracer.Start(c.ctx, name)
	return func() { span.End() }
}

// End names the span and gives it what audit is given. The names are those of OpenTelemetry's conventions for MCP where they have one.
func (c *call) End(r boundary.AuditRecord) {
	if r.Tool != "" {
		c.span.SetName(method + " " + r.Tool)
	}
	c.span.SetAttributes(attribute.String("mcp.method.name", method), attribute.Bool("mcp_gateway.truncated", r.Truncated), attribute.Int("mcp_gateway.returned_count", r.ReturnedCount),
		attribute.Int64("mcp_gateway.request_bytes", r.RequestBytes), attribute.Int64("mcp_gateway.raw_bytes", r.RawBytes), attribute.Int64("mcp_gateway.observation_bytes", r.ObservationBytes))
	for key, value := range map[string]string{
		"gen_ai.tool.name": r.Tool, "gen_ai.tool.call.id": r.Call, "mcp_gateway.run_id": r.Run, "mcp_gateway.host_call_id": r.HostCallID, "mcp_gateway.step_id": r.StepID,
		"mcp_gateway.invocation_status": string(r.InvocationStatus), "mcp_gateway.evidence_status": r.EvidenceStatus, "mcp_gateway.scope_id": r.ScopeID, "error.type": string(r.Code),
	} {
		if value != "" {
			c.span.SetAttributes(attribute.String(key, value))
		}
	}
	if r.Code != "" {
		c.span.SetStatus(codes.Error, string(r.Code))
	}
	c.span.End()
}

// quiet says at most once a minute that spans are lost. The error's text may name addresses and headers, so it goes nowhere.
type quiet struct {
	log  *slog.Logger
	last atomic.Int64
}

func (q *quiet) Handle(error) {
	now := time.Now().Unix()
	if last := q.last.Load(); now-last >= 60 && q.last.CompareAndSwap(last, now) {
		q.log.Warn("traces are lost: the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take them")
	}
}
