package mcpserver

import (
	"context"
	_ "embed"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

const (
	helpURI          = "evidence://help"
	evidenceScheme   = "evidence"
	schemaScheme     = "schema"
	evidenceTemplate = "evidence://{+rest}" // mcp-go's {?a,b} depends on the order of the parameters, and clients fill in templates by the same rules
	schemaTemplate   = "schema://{datasource}"

	mimeJSON     = "application/json"
	mimeMarkdown = "text/markdown"
)

//go:embed help.md
var helpText string

// maxNames bounds how many datasources the template's description lists.
const maxNames = 20

// maxErrorURI is the longest URI that an error repeats.
const maxErrorURI = 1024

// scheme is the scheme of the URI that is read if it is one that is served, else "".
func (x *exchange) scheme() string {
	i := strings.IndexByte(x.msg.uri, ':')
	if i < 0 {
		return ""
	}
	for _, s := range [...]string{evidenceScheme, schemaScheme} {
		if strings.EqualFold(x.msg.uri[:i], s) {
			return s
		}
	}
	return ""
}

func (x *exchange) notFound() *rpcError {
	e := &rpcError{code: mcp.RESOURCE_NOT_FOUND, text: "Resource not found."}
	if x.msg.modern() {
		e.code = mcp.INVALID_PARAMS
	}
	if len(x.msg.uri) <= maxErrorURI {
		e.data = map[string]string{"uri": x.msg.uri}
	}
	return e
}

// GetSessionResources gives the resources to list, or the one that is read.
func (x *exchange) GetSessionResources() map[string]server.ServerResource {
	switch mcp.MCPMethod(x.msg.method) {
	case mcp.MethodResourcesRead:
		return map[string]server.ServerResource{innerResource: {Handler: x.read}}
	case mcp.MethodResourcesList:
		return map[string]server.ServerResource{helpURI: {Resource: mcp.NewResource(helpURI, "evidence_help",
			mcp.WithResourceTitle("How to cite and verify evidence"),
			mcp.WithResourceDescription("How to cite a tool call in an answer, and how to have a citation verified by reading an evidence:// resource."),
			mcp.WithMIMEType(mimeMarkdown))}}
	}
	return nil
}

// GetSessionResourceTemplates gives the templates to list. Reading never goes through a template.
func (x *exchange) GetSessionResourceTemplates() map[string]server.ServerResourceTemplate {
	if x.msg.method != string(mcp.MethodResourcesTemplatesList) {
		return nil
	}
	out := map[string]server.ServerResourceTemplate{evidenceTemplate: {Template: mcp.NewResourceTemplate(evidenceTemplate, "verify_evidence",
		mcp.WithTemplateTitle("Verify a citation"),
		mcp.WithTemplateDescription("evidence://{run_id}/{tool_call_id}, run_id may be \"current\"; optional query: item, field, value, quote, sha256, stance=found|absent. "+
			"Answers a verdict (SUPPORTED, SCOPED_NEGATIVE or REJECTED) with its reason, never content."),
		mcp.WithTemplateMIMEType(mimeJSON))}}
	names := x.s.o.Schemas.Datasources(x.caller.Grants)
	if len(names) == 0 {
		return out
	}
	list, more := names, ""
	if len(list) > maxNames {
		list, more = list[:maxNames], ", …"
	}
	out[schemaTemplate] = server.ServerResourceTemplate{Template: mcp.NewResourceTemplate(schemaTemplate, "datasource_schema",
		mcp.WithTemplateTitle("Schema of a datasource"),
		mcp.WithTemplateDescription("Allowed tables and columns of a datasource, with types and the masked flag. Datasources: "+strings.Join(list, ", ")+more+"."),
		mcp.WithTemplateMIMEType(mimeJSON))}
	return out
}

// read is the only resource handler. It never returns an error to mcp-go: what cannot be read sets x.fail.
func (x *exchange) read(ctx context.Context, _ mcp.ReadResourceRequest) (contents []mcp.ResourceContents, _ error) {
	defer func() {
		if p := recover(); p != nil {
			x.s.logPanic(ctx, "read")
			x.fail = &rpcError{code: mcp.INTERNAL_ERROR, text: textInternal}
		}
	}()
	one := func(mime, text string) []mcp.ResourceContents {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: x.msg.uri, MIMEType: mime, Text: text}}
	}
	if x.msg.uri == helpURI {
		return one(mimeMarkdown, helpText), nil
	}
	scheme := x.scheme()
	if scheme == evidenceScheme {
		return one(mimeJSON, x.verdict(ctx)), nil
	}
	name, ok := datasourceOf(x.msg.uri)
	if !ok || scheme != schemaScheme {
		x.fail = x.notFound()
		return nil, nil
	}
	schema, err := x.s.o.Schemas.Schema(ctx, name, x.caller.Grants)
	if err != nil || len(schema) == 0 {
		x.fail = x.notFound()
		return nil, nil
	}
	return one(mimeJSON, string(schema)), nil
}

// noVerdict is the answer when none could be reached.
const noVerdict = `{"verdict":"REJECTED","reason":"STORE_UNAVAILABLE","checked":"EXISTENCE","run_id":"","tool_call_id":""}`

// verdict has the citation checked. Whatever happens, the answer is a verdict: one that could not be reached rejects.
func (x *exchange) verdict(ctx context.Context) (text string) {
	defer func() {
		if p := recover(); p != nil {
			x.s.logPanic(ctx, "verdict")
			text = noVerdict
		}
	}()
	run := x.s.o.Resolver.Current(x.caller.Principal, x.explicitRun())
	v := x.s.o.Verifier.VerifyURI(ctx, evidence.Caller{Principal: x.caller.Principal, Run: run}, escapeURI(x.msg.uri))
	b, err := strictjson.Encode(v)
	if err != nil || v.Outcome == "" {
		return noVerdict
	}
	return string(b)
}

// datasourceOf is the name in schema://{datasource}; a trailing slash, which some URL libraries add, is no part of it.
func datasourceOf(uri string) (string, bool) {
	_, rest, ok := strings.Cut(uri, "://")
	rest = strings.TrimSuffix(rest, "/")
	if !ok || rest == "" || len(rest) > maxErrorURI || strings.ContainsAny(rest, "/?#") {
		return "", false
	}
	name, err := url.PathUnescape(rest)
	return name, err == nil
}

// escapeURI percent-encodes every byte that an evidence URI may not hold as it stands. Models write quotes into URIs as they are: spaces, Chinese, quotation
// marks, "50%". What is already encoded stays. In a quote or a value, # and ; are encoded as well: there they are text, and as delimiters they would cut it short.
// Elsewhere they stay, and the guard refuses them.
func escapeURI(uri string) string {
	const hex = "0123456789ABCDEF"
	var b []byte // nil as long as nothing had to be encoded
	inText, param := false, 0
	for i := range len(uri) {
		c := uri[i]
		switch {
		case c == '?' && param == 0, c == '&' && param > 0:
			inText, param = false, i+1
		case c == '=' && param > 0 && !inText:
			name := uri[param:i]
			inText = name == "quote" || name == "value"
		}
		if uriByte(uri, i) || !inText && (c == '#' || c == ';') {
			if b != nil {
				b = append(b, c)
			}
			continue
		}
		if b == nil {
			b = append(make([]byte, 0, len(uri)+64), uri[:i]...)
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	if b == nil {
		return uri
	}
	return string(b)
}

func uriByte(uri string, i int) bool {
	switch c := uri[i]; {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '%':
		return i+2 < len(uri) && isHex(uri[i+1]) && isHex(uri[i+2])
	default:
		return strings.IndexByte("-._~:/?@!$&'()*+,=", c) >= 0
	}
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
