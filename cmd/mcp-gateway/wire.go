package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/audit"
	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/filestore"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/canonical/redisstore"
	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/mcpserver"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/elasticsearch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/loki"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql/server"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/dify"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/embed"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/folder"
)

// This file is the only place that names backends and reveals secrets. Nothing here does I/O.

// openStore makes the record store that canonical.store names.
func openStore(cfg *config.Config, log *slog.Logger) (canonical.Driver, error) {
	store := cfg.Canonical.Store.Reveal()
	key := cfg.Canonical.EncryptionKey.Reveal()
	switch config.StoreKind(store) {
	case "memory":
		return memstore.New(time.Now), nil
	case "file":
		path, err := storePath(store)
		if err != nil {
			return nil, config.Problems{cfg.Problem("canonical.store", err.Error())}
		}
		return filestore.New(filestore.Options{Path: path, EncryptionKey: key})
	case "redis":
		s, err := redisstore.New(redisstore.Options{URL: store, AllowEviction: cfg.Canonical.AllowEviction, EncryptionKey: key})
		if err != nil {
			return nil, config.Problems{cfg.Problem("canonical.store", err.Error())}
		}
		return s, nil
	}
	return nil, config.Problems{cfg.Problem("canonical.store", "names no store")}
}

// openAudit makes the metadata sink, nil when audit is off.
func openAudit(cfg *config.Config, log *slog.Logger) (auditSink, error) {
	switch {
	case cfg.Audit.File != "":
		return audit.NewFile(string(cfg.Audit.File), audit.Options{Logger: log})
	case !cfg.Audit.MySQL.IsZero():
		s, err := audit.NewMySQL(cfg.Audit.MySQL.Reveal(), audit.Options{Logger: log})
		if err != nil {
			return nil, config.Problems{cfg.Problem("audit.mysql", err.Error())}
		}
		return s, nil
	}
	return nil, nil
}

// openTools makes the tools that have something to read. Every mistake in their options is reported, not only the first.
func openTools(cfg *config.Config, log *slog.Logger) ([]boundary.BoundTool, *toolset, error) {
	w := &wiring{cfg: cfg, log: log, t: &toolset{}}
	w.logs()
	w.rag()
	w.mysql()
	w.t.close = w.closeAll
	if len(w.problems) > 0 {
		return nil, nil, errors.Join(config.Problems(w.problems).Sorted(), w.closeAll())
	}
	return w.tools, w.t, nil
}

type wiring struct {
	cfg      *config.Config
	log      *slog.Logger
	t        *toolset
	tools    []boundary.BoundTool
	closers  []func() error
	problems []config.Problem
}

func (w *wiring) closeAll() error {
	var errs []error
	for _, c := range w.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

func (w *wiring) bad(path string, err error) {
	w.problems = append(w.problems, w.cfg.Problem(path, err.Error()))
}

func (w *wiring) probe(name string, check func(context.Context) error) {
	w.t.checks = append(w.t.checks, probe{name: name, check: check})
}

// localProbe is one that asks no other machine.
func (w *wiring) localProbe(name string, check func(context.Context) error) {
	w.t.checks = append(w.t.checks, probe{name: name, local: true, check: check})
}

// redactor masks the classes named; secrets always.
func (w *wiring) redactor(path string, mask []string, placeholders bool) *redact.Redactor {
	has := func(c string) bool { return slices.Contains(mask, c) }
	r, err := redact.New(redact.Options{
		Classes: redact.Classes{Secrets: true, Infrastructure: has("infrastructure"), Persons: has("persons"), SQL: has("sql")},
		Keep:    w.cfg.Redaction.Keep, Hide: w.cfg.Redaction.Hide, KeepPlaceholders: placeholders,
	})
	if err != nil {
		w.bad(path, err)
	}
	return r
}

// checkedSource is a source of logs that can be probed.
type checkedSource interface {
	logs.Source
	Check(ctx context.Context) error
}

// logSource makes the source of a topic; kind is its key in the configuration. A remote server may send as many bytes as may match.
func logSource(c config.Topic, maxBytes int64) (kind string, src checkedSource, err error) {
	switch {
	case c.Files != nil:
		paths := make([]string, len(c.Files.Paths))
		for i, p := range c.Files.Paths {
			paths[i] = string(p)
		}
		src, err = files.New(files.Options{Paths: paths, Timezone: c.Files.Timezone})
		return "files", src, err
	case c.VictoriaLogs != nil:
		v := c.VictoriaLogs
		src, err = victorialogs.New(victorialogs.Options{URL: v.URL, Filter: v.Filter, Tenant: v.Tenant, Header: revealed(v.Headers), MaxBytes: maxBytes})
		return "victorialogs", src, err
	case c.Loki != nil:
		l := c.Loki
		src, err = loki.New(loki.Options{URL: l.URL, Selector: l.Selector, Tenant: l.Tenant, Header: revealed(l.Headers), MaxBytes: maxBytes})
		return "loki", src, err
	case c.Elasticsearch != nil:
		e := c.Elasticsearch
		src, err = elasticsearch.New(elasticsearch.Options{URL: e.URL, Index: e.Index, TimeField: e.TimeField, MessageField: e.MessageField, LevelField: e.LevelField,
			Header: revealed(e.Headers), MaxBytes: maxBytes})
		return "elasticsearch", src, err
	}
	return "", nil, nil
}

func revealed(headers map[string]config.Secret) map[string]string {
	out := make(map[string]string, len(headers))
	for k, v := range headers {
		out[k] = v.Reveal()
	}
	return out
}

func (w *wiring) logs() {
	var topics []logs.Topic
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Logs.Topics)) {
		c, at := w.cfg.Logs.Topics[name], "logs.topics."+name
		t := logs.Topic{Name: name, Description: c.Description, AppPackages: c.AppPackages, Redactor: w.redactor(at+".mask", c.Mask, false)}
		kind, src, err := logSource(c, int64(w.cfg.Call.MaxMatched))
		if err != nil {
			w.bad(at+"."+kind, err)
			continue
		}
		if src != nil {
			t.Source = src
			probe := w.probe
			if kind == "files" {
				probe = w.localProbe
			}
			probe("topic "+name, src.Check)
			if s, ok := src.(io.Closer); ok {
				w.closers = append(w.closers, s.Close)
			}
		}
		topics = append(topics, t)
	}
	if len(topics) == 0 || len(w.problems) > 0 {
		return
	}
	tool, err := logs.New(logs.Options{Topics: topics, MaxScan: int64(w.cfg.Call.MaxScan), MaxMatched: int64(w.cfg.Call.MaxMatched)})
	if err != nil {
		w.bad("logs.topics", err)
		return
	}
	w.tools = append(w.tools, boundary.Bind(tool))
}

// openIndex makes the index of one folder collection. Its file lies in rag.index_dir, else beside the default record store, and is named for the folder, so that
// configurations with collections of the same name do not share one.
func openIndex(cfg *config.Config, name string, r *redact.Redactor) (*folder.Index, error) {
	c := cfg.RAG.Collections[name]
	dir := string(cfg.RAG.IndexDir)
	if dir == "" {
		state, err := stateDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(state, "rag")
		if p, ok := strings.CutPrefix(cfg.Canonical.Store.Reveal(), "file:"); ok && p != "" {
			dir = filepath.Join(filepath.Dir(p), "rag")
		}
	}
	sum := sha256.Sum256([]byte(c.Folder.Path))
	o := folder.Options{Path: string(c.Folder.Path), IndexFile: filepath.Join(dir, name+"-"+hex.EncodeToString(sum[:6])+".db"), Space: name, Redactor: r, Redaction: redactionID(cfg, c.Mask)}
	if e := c.Embeddings; e != nil {
		client, err := embed.New(embed.Options{URL: e.URL, Model: e.Model, APIKey: e.APIKey.Reveal(), Dimensions: e.Dimensions})
		if err != nil {
			return nil, hinted(err)
		}
		o.Embedder = client
	}
	return folder.New(o)
}

// redactionID names what decides how an index is redacted: an index made under other rules is built anew.
func redactionID(cfg *config.Config, mask []string) string {
	h := sha256.New()
	for _, list := range [][]string{slices.Sorted(slices.Values(mask)), cfg.Redaction.Keep, cfg.Redaction.Hide} {
		fmt.Fprintf(h, "%q\n", list)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// hinted is the public hint of a coded error: the configuration's own words.
func hinted(err error) error {
	if _, _, hint := fault.Public(err); hint != "" {
		return errors.New(hint)
	}
	return plain(err)
}

func (w *wiring) rag() {
	var cols []rag.Collection
	for _, name := range slices.Sorted(maps.Keys(w.cfg.RAG.Collections)) {
		c, at := w.cfg.RAG.Collections[name], "rag.collections."+name
		r := w.redactor(at+".mask", c.Mask, true)
		k := collection(w.cfg, name, r)
		if c.Folder != nil && r != nil {
			idx, err := openIndex(w.cfg, name, r)
			if err != nil {
				w.bad(at+".folder", err)
				continue
			}
			k.Searcher = idx
			w.closers = append(w.closers, idx.Close)
			w.localProbe("collection "+name, idx.Check)
		}
		if d := c.Dify; d != nil {
			remote, err := dify.New(dify.Options{URL: d.URL, KnowledgeID: d.KnowledgeID, APIKey: d.APIKey.Reveal(), Filters: d.Filters,
				Fields: dify.Fields{Content: d.ContentField, Title: d.TitleField, ID: d.IDField}})
			if err != nil {
				w.bad(at+".dify", hinted(err))
				continue
			}
			k.Searcher = remote
			w.probe("collection "+name, remote.Check)
		}
		cols = append(cols, k)
	}
	if len(cols) == 0 || len(w.problems) > 0 {
		return
	}
	tool, err := rag.New(rag.Options{Collections: cols})
	if err != nil {
		w.bad("rag.collections", err)
		return
	}
	w.tools = append(w.tools, boundary.Bind(tool))
}

// collection is a collection of the configuration, without its searcher.
func collection(cfg *config.Config, name string, r *redact.Redactor) rag.Collection {
	c := cfg.RAG.Collections[name]
	return rag.Collection{Name: name, Description: c.Description, Redactor: r, Floor: floor(c.Floor, rag.DefaultFloor), FloorCJK: floor(c.FloorCJK, rag.DefaultFloorCJK), High: floor(c.High, rag.DefaultHigh)}
}

// floor is a configured threshold. rag takes 0 for "not set", so an explicit 0 becomes the smallest relevance there is.
func floor(v *float64, def float64) float64 {
	switch {
	case v == nil:
		return def
	case *v == 0:
		return math.SmallestNonzeroFloat64
	}
	return *v
}

// policySpec is the allowlist of a datasource. A name without a schema resolves in the DSN's database.
func policySpec(d config.Datasource) sqlguard.PolicySpec {
	spec := sqlguard.PolicySpec{MaxRows: d.MaxRows, DefaultSchema: server.Database(d.DSN.Reveal()), Schemas: make(map[string]map[string]sqlguard.TableSpec, len(d.Schemas))}
	for s, tables := range d.Schemas {
		spec.Schemas[s] = make(map[string]sqlguard.TableSpec, len(tables))
		for t, c := range tables {
			spec.Schemas[s][t] = sqlguard.TableSpec{Columns: c.Columns, Masked: c.Masked}
		}
	}
	return spec
}

// sqlGuard makes the guard of a datasource, or lists what is wrong with its allowlist.
func sqlGuard(cfg *config.Config, name string) (*sqlguard.Guard, config.Problems) {
	at := "mysql.datasources." + name
	spec := policySpec(cfg.MySQL.Datasources[name])
	var ps config.Problems
	for _, p := range spec.Problems() {
		ps = append(ps, cfg.Problem(at+".schemas", p))
	}
	if len(ps) > 0 {
		return nil, ps
	}
	g, err := sqlguard.New(spec)
	if err != nil {
		return nil, config.Problems{cfg.Problem(at+".schemas", err.Error())}
	}
	return g, nil
}

func (w *wiring) mysql() {
	var sources []mysql.Datasource
	for _, name := range slices.Sorted(maps.Keys(w.cfg.MySQL.Datasources)) {
		c, at := w.cfg.MySQL.Datasources[name], "mysql.datasources."+name
		guard, ps := sqlGuard(w.cfg, name)
		w.problems = append(w.problems, ps...)
		srv, err := server.New(server.Options{DSN: c.DSN.Reveal(), MaxRows: c.MaxRows, Timeout: time.Duration(c.Timeout), AllowWritableAccount: c.AllowWritableAccount, Logger: w.log})
		if err != nil {
			w.bad(at+".dsn", err)
			continue
		}
		w.closers = append(w.closers, srv.Close)
		w.probe("datasource "+name, func(ctx context.Context) error {
			if err := srv.Check(ctx); err != nil || guard == nil {
				return err
			}
			return mysql.CheckAllowlist(ctx, guard, srv)
		})
		sources = append(sources, mysql.Datasource{Name: name, Description: c.Description, Guard: guard, Executor: srv})
	}
	if len(sources) == 0 || len(w.problems) > 0 {
		return
	}
	tool, err := mysql.New(mysql.Options{Datasources: sources, Keep: w.cfg.Redaction.Keep, Hide: w.cfg.Redaction.Hide})
	if err != nil {
		w.bad("mysql.datasources", err)
		return
	}
	w.tools = append(w.tools, boundary.Bind(tool))
	w.t.schemas = tool
}

// grants are what a token may use.
func grants(t config.Token) boundary.Grants {
	return boundary.NewGrants(map[boundary.Kind][]string{boundary.Tools: t.Tools, boundary.Topics: t.Topics, boundary.Datasources: t.Datasources, boundary.Collections: t.Collections})
}

// bearerTokens are the tokens of the MCP listener.
func bearerTokens(cfg *config.Config) ([]mcpserver.Token, error) {
	var out []mcpserver.Token
	for _, t := range cfg.Auth.Tokens {
		k, err := mcpserver.NewToken(t.Name, t.Token.Reveal())
		if err != nil {
			return nil, fmt.Errorf("auth.tokens: %w", err)
		}
		k.Role, k.Run, k.Grants = t.Role, t.Run, grants(t)
		out = append(out, k)
	}
	return out, nil
}
