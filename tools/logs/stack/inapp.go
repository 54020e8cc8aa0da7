package stack

import "strings"

// libraries are prefixes of functions that no application owns; libraryPaths are parts of paths with the same meaning.
// They serve when no prefixes of the application are configured.
var libraries = [...]string{
	"java.", "javax.", "jakarta.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.",
	"org.springframework.", "org.apache.", "org.hibernate.", "org.eclipse.", "org.jboss.", "org.junit.", "org.slf4j.", "org.mybatis.",
	"org.postgresql.", "com.zaxxer.", "com.mysql.", "com.fasterxml.", "com.google.common.", "com.google.inject.", "com.alibaba.druid.",
	"io.netty.", "io.grpc.", "io.lettuce.", "io.micrometer.", "io.undertow.", "io.reactivex.", "reactor.", "redis.clients.", "feign.",
	"okhttp3.", "ch.qos.logback.", "net.sf.cglib.", "akka.", "rx.",
	"System.", "Microsoft.", "lambda_method", "Npgsql.", "MySqlConnector.", "Newtonsoft.",
	"runtime.", "runtime/", "panic(", "net/http.", "net.", "reflect.", "sync.", "testing.", "internal/", "database/sql.", "golang.org/x/", "google.golang.org/",
	"rust_begin_unwind", "core::", "std::", "alloc::", "tokio::", "hyper::", "futures", "tower::", "axum::", "actix_", "__rust", "_main", "__libc_start", "<core::", "<alloc::", "<std::", "<tokio::", "<F as core::",
	"node:", "internal/", "[internal function]", "{main}", "<internal:", "<frozen ",
}

var libraryPaths = [...]string{
	"node:", "/node_modules/", "node_modules/", "(internal/", "site-packages/", "dist-packages/", "/usr/lib/python", "/usr/local/lib/python", "/lib/python3",
	"/usr/local/go/src/", "/usr/lib/go", "/pkg/mod/", "/rustc/", "/.cargo/registry/", "/gems/", "/lib/ruby/", "/vendor/", "<frozen ", "<internal:",
}

// inApp says whether a frame belongs to the application: by the configured prefixes, tried on its function and on its
// path, else by not being of a known library.
func (f *frame) inApp(prefixes []string) bool {
	if len(prefixes) > 0 {
		for _, p := range prefixes {
			if p != "" && (strings.HasPrefix(f.name, p) || strings.HasPrefix(f.path, p)) {
				return true
			}
		}
		return false
	}
	if f.name == "" && f.path == "" {
		return false
	}
	for _, p := range libraries {
		if strings.HasPrefix(f.name, p) {
			return false
		}
	}
	for _, p := range libraryPaths {
		if strings.Contains(f.path, p) {
			return false
		}
	}
	return !strings.Contains(f.name, "CGLIB$$") && !strings.HasPrefix(f.path, "./vendor/")
}
