// Package config reads the gateway's configuration file: strict YAML in which an unknown key, a wrong type, a missing environment variable and every contradiction
// are problems with file, line, key path and what would be right. All problems of a file are reported in one pass. The result is immutable plain data; packages take
// their own options from it in the command's wiring, never a Config.
package config

import "time"

// Config is a whole configuration with its defaults filled in. Paths are absolute.
type Config struct {
	HTTP      HTTP      `yaml:"http"`
	Harness   Harness   `yaml:"harness"`
	Auth      Auth      `yaml:"auth"`
	Runs      Runs      `yaml:"runs"`
	Call      Call      `yaml:"call"`
	Canonical Canonical `yaml:"canonical"`
	Audit     Audit     `yaml:"audit"`
	RAG       RAG       `yaml:"rag"`
	Logs      Logs      `yaml:"logs"`
	MySQL     MySQL     `yaml:"mysql"`
	Redaction Redaction `yaml:"redaction"`
	Log       Log       `yaml:"log"`

	// File is where the configuration came from, absolute; "" for the built-in default.
	File string `yaml:"-"`
	// Warnings are no errors but worth reading.
	Warnings []Problem `yaml:"-"`
	lines    map[string]int
	failed   map[string]bool // paths whose value could not be read while loading
}

// Size is a number of bytes: 16KiB, 4MiB, 1GiB, or a plain number.
type Size int64

// Duration is a Go duration: 30s, 10m, 2h.
type Duration time.Duration

// HTTP is the streamable HTTP listener.
type HTTP struct {
	Listen         string   `yaml:"listen"`
	Path           string   `yaml:"path"`
	AllowedOrigins []string `yaml:"allowed_origins"`
	AllowedHosts   []string `yaml:"allowed_hosts"`
	TLS            TLS      `yaml:"tls"`
	BehindTLSProxy bool     `yaml:"behind_tls_proxy"`
	MaxBody        Size     `yaml:"max_body"`
	MaxConcurrent  int      `yaml:"max_concurrent"`
}

// TLS names a certificate and its key; both or none.
type TLS struct {
	CertFile Path `yaml:"cert_file"`
	KeyFile  Path `yaml:"key_file"`
}

// Path is a file path, relative to the configuration file while it is read.
type Path string

// Harness is the harness's own listener; absent means off.
type Harness struct {
	Listen string `yaml:"listen"`
}

// Auth says who may call over HTTP.
type Auth struct {
	Tokens []Token `yaml:"tokens"`
	OIDC   *OIDC   `yaml:"oidc"`
}

// Token is one static bearer token. A nil list grants everything of its kind, an empty one nothing.
type Token struct {
	Name        string   `yaml:"name"`
	Token       Secret   `yaml:"token"`
	Role        string   `yaml:"role"` // agent (default) or harness
	Run         string   `yaml:"run"`
	Tools       []string `yaml:"tools"`
	Topics      []string `yaml:"topics"`
	Datasources []string `yaml:"datasources"`
	Collections []string `yaml:"collections"`
	Principals  []string `yaml:"principals"` // role harness: the principals it may administer
}

// OIDC accepts tokens of an issuer.
type OIDC struct {
	Issuer    string `yaml:"issuer"`
	Audience  string `yaml:"audience"`
	RunClaim  string `yaml:"run_claim"`
	RoleClaim string `yaml:"role_claim"`
}

// Runs are the defaults of implicit runs and the ceilings of a principal.
type Runs struct {
	Mode      string    `yaml:"mode"` // implicit or registered
	TTL       Duration  `yaml:"ttl"`
	Limits    RunLimits `yaml:"limits"`
	NoGain    NoGain    `yaml:"no_gain"`
	Principal Principal `yaml:"principal"`
}

// RunLimits are a run's budgets.
type RunLimits struct {
	Calls            int64 `yaml:"calls"`
	RequestBytes     Size  `yaml:"request_bytes"`
	RawBytes         Size  `yaml:"raw_bytes"`
	ObservationBytes Size  `yaml:"observation_bytes"`
}

// NoGain stops a run after Limit calls without gain among the last Window.
type NoGain struct {
	Limit  int `yaml:"limit"`
	Window int `yaml:"window"`
}

// Principal bounds what one caller may hold over all runs.
type Principal struct {
	OpenRuns       int64 `yaml:"open_runs"`
	CallsPerMinute int64 `yaml:"calls_per_minute"`
	LiveBytes      Size  `yaml:"live_bytes"`
}

// Call bounds one call.
type Call struct {
	Timeout        Duration `yaml:"timeout"`
	MaxRequest     Size     `yaml:"max_request"`
	MaxRaw         Size     `yaml:"max_raw"`
	MaxRecord      Size     `yaml:"max_record"`
	MaxObservation Size     `yaml:"max_observation"`
	MaxScan        Size     `yaml:"max_scan"`
	MaxMatched     Size     `yaml:"max_matched"`
}

// Canonical is the record store. Store is file:PATH, memory, redis://, rediss://, redis+sentinel:// or redis+cluster://; file: alone is the default path.
type Canonical struct {
	Store         Secret   `yaml:"store"`
	TTL           Duration `yaml:"ttl"`
	EncryptionKey Secret   `yaml:"encryption_key"`
	Replicas      int      `yaml:"replicas"`
	AllowEviction bool     `yaml:"allow_eviction"`
}

// Audit is the metadata sink; both empty means off.
type Audit struct {
	MySQL Secret `yaml:"mysql"`
	File  Path   `yaml:"file"`
}

// RAG holds the collections of query_rag.
type RAG struct {
	IndexDir    Path                  `yaml:"index_dir"`
	Collections map[string]Collection `yaml:"collections"`
}

// Collection is one set of documents. Exactly one source is set.
type Collection struct {
	Description string      `yaml:"description"`
	Folder      *Folder     `yaml:"folder"`
	Dify        *Dify       `yaml:"dify"`
	Floor       *float64    `yaml:"floor"`
	FloorCJK    *float64    `yaml:"floor_cjk"`
	High        *float64    `yaml:"high"`
	Mask        []string    `yaml:"mask"`
	Embeddings  *Embeddings `yaml:"embeddings"`
}

// Folder is a folder of Markdown, text and HTML.
type Folder struct {
	Path Path `yaml:"path"`
}

// Dify is a remote retriever that speaks the Dify external-knowledge contract.
type Dify struct {
	URL          string            `yaml:"url"`
	KnowledgeID  string            `yaml:"knowledge_id"`
	APIKey       Secret            `yaml:"api_key"`
	ContentField string            `yaml:"content_field"`
	TitleField   string            `yaml:"title_field"`
	IDField      string            `yaml:"id_field"`
	Filters      map[string]string `yaml:"filters"`
}

// Embeddings is an OpenAI-compatible embeddings endpoint.
type Embeddings struct {
	URL        string `yaml:"url"`
	Model      string `yaml:"model"`
	APIKey     Secret `yaml:"api_key"`
	Dimensions int    `yaml:"dimensions"`
}

// Logs holds the topics of query_logs.
type Logs struct {
	Topics map[string]Topic `yaml:"topics"`
}

// Topic is one stream of logs. Exactly one source is set.
type Topic struct {
	Description   string         `yaml:"description"`
	Files         *Files         `yaml:"files"`
	Loki          *Loki          `yaml:"loki"`
	VictoriaLogs  *VictoriaLogs  `yaml:"victorialogs"`
	Elasticsearch *Elasticsearch `yaml:"elasticsearch"`
	Mask          []string       `yaml:"mask"`
	AppPackages   []string       `yaml:"app_packages"`
}

// Files are log files by pattern.
type Files struct {
	Paths    []Path `yaml:"paths"`
	Timezone string `yaml:"timezone"`
}

// Loki is a Grafana Loki backend with a fixed stream selector.
type Loki struct {
	URL      string            `yaml:"url"`
	Selector string            `yaml:"selector"`
	Tenant   string            `yaml:"tenant"`
	Headers  map[string]Secret `yaml:"headers"`
}

// VictoriaLogs is a VictoriaLogs backend with a fixed filter.
type VictoriaLogs struct {
	URL     string            `yaml:"url"`
	Filter  string            `yaml:"filter"`
	Tenant  string            `yaml:"tenant"`
	Headers map[string]Secret `yaml:"headers"`
}

// Elasticsearch is an Elasticsearch or OpenSearch backend with a fixed index.
type Elasticsearch struct {
	URL          string            `yaml:"url"`
	Index        string            `yaml:"index"`
	TimeField    string            `yaml:"time_field"`
	MessageField string            `yaml:"message_field"`
	LevelField   string            `yaml:"level_field"`
	Headers      map[string]Secret `yaml:"headers"`
}

// MySQL holds the datasources of query_mysql.
type MySQL struct {
	Datasources map[string]Datasource `yaml:"datasources"`
}

// Datasource is one database with its allowlist.
type Datasource struct {
	Description          string                      `yaml:"description"`
	DSN                  Secret                      `yaml:"dsn"`
	MaxRows              int                         `yaml:"max_rows"`
	Timeout              Duration                    `yaml:"timeout"`
	AllowWritableAccount bool                        `yaml:"allow_writable_account"`
	Schemas              map[string]map[string]Table `yaml:"schemas"`
}

// Table is the allowlist of one table. In the file it is a list of columns or {columns, masked}.
type Table struct {
	Columns []string `yaml:"columns"`
	Masked  []string `yaml:"masked"`
}

// Redaction adds to what is kept and what is hidden.
type Redaction struct {
	Keep []string `yaml:"keep"`
	Hide []string `yaml:"hide"`
}

// Log is the gateway's own log on stderr.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text or json
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		HTTP: HTTP{Listen: "127.0.0.1:8484", Path: "/mcp", MaxBody: 1 << 20, MaxConcurrent: 256},
		Runs: Runs{Mode: "implicit", TTL: Duration(2 * time.Hour), Limits: RunLimits{Calls: 200, RequestBytes: 1 << 20, RawBytes: 256 << 20, ObservationBytes: 2 << 20},
			NoGain: NoGain{Limit: 8, Window: 10}, Principal: Principal{OpenRuns: 256, CallsPerMinute: 600, LiveBytes: 512 << 20}},
		Call: Call{Timeout: Duration(30 * time.Second), MaxRequest: 16 << 10, MaxRaw: 4 << 20, MaxRecord: 8 << 20, MaxObservation: 16 << 10, MaxScan: 4 << 30,
			MaxMatched: 512 << 20},
		Canonical: Canonical{Store: NewSecret("file:"), TTL: Duration(3 * time.Hour), Replicas: 1},
		Log:       Log{Level: "info", Format: "text"},
	}
}

// setDefaults fills in what a present entry left out.
func (c *Config) setDefaults() {
	for n, d := range c.MySQL.Datasources {
		if d.MaxRows == 0 {
			d.MaxRows = 200
		}
		if d.Timeout == 0 {
			d.Timeout = Duration(10 * time.Second)
		}
		c.MySQL.Datasources[n] = d
	}
	for n, t := range c.Logs.Topics {
		if t.Mask == nil {
			t.Mask = []string{"secrets", "infrastructure", "persons", "sql"}
		}
		c.Logs.Topics[n] = t
	}
	for n, k := range c.RAG.Collections {
		if k.Mask == nil {
			k.Mask = []string{"secrets"}
		}
		c.RAG.Collections[n] = k
	}
	for i := range c.Auth.Tokens {
		if c.Auth.Tokens[i].Role == "" {
			c.Auth.Tokens[i].Role = "agent"
		}
	}
}
