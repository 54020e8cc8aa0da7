# make test is all of CI. The other targets are parts of it, or measurements.
SHELL := /bin/bash
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOFLAGS := -buildvcs=false
TIMEOUT ?= 14m
DURATION ?= 10m

.PHONY: build test test-full test-loki soak lint clients conformance demo bench eval

build: ## the binary, in ./bin
	CGO_ENABLED=0 go build -trimpath -o bin/mcp-gateway ./cmd/mcp-gateway

test: ## everything that must hold: formatting, vet, staticcheck, all tests with the race detector (those of clients and conformance too), the demo
	scripts/deps
	$(MAKE) --no-print-directory lint
	go test -race -timeout $(TIMEOUT) ./...
	go test -C examples/demo ./...

test-full: ## make test with every cell of the fault matrix and a soak of ten minutes; under an hour
	RELIABILITY=full SOAK=$(DURATION) $(MAKE) --no-print-directory test TIMEOUT=50m

test-loki: ## the Loki adapter against a real Loki, built on first use (a quarter of an hour of one core or more)
	LOKI_BINARY=$$(scripts/loki) && LOKI_BINARY=$$LOKI_BINARY go test -count 1 -v -run '^TestLive' ./tools/logs/loki

soak: ## three replicas under random faults: make soak DURATION=1h SEED=7
	SOAK=$(DURATION) SEED=$(SEED) go test -count 1 -v -timeout 0 -run '^TestSoak$$' ./reliability

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

clients: ## MCP Inspector and TypeScript SDK clients against the built gateway, over stdio and HTTP
	scripts/deps
	go test -count 1 -v -run '^(TestClients|TestInspector)' ./clients

conformance: ## the official conformance suite against the built gateway
	scripts/deps
	go test -count 1 -v -run 'Conformance|ExpectedFailures' ./clients

demo: ## one diagnosis with everything embedded
	go run -C examples/demo .

bench: ## the numbers of docs/performance.md
	go test -run '^$$' -bench . -benchmem -benchtime 1s ./... | grep -E '^(Benchmark|pkg:)'

eval: ## quality figures on a folder of corpora: make eval CORPORA=DIR
	go test -count 1 -v -run Eval ./eval ./sqlguard | grep -v -E '^(=== RUN|--- PASS|PASS)'
