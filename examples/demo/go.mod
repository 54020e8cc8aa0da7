module github.com/seed-069badc9/mcp-gateway/examples/demo

go 1.26.8

require (
	github.com/dolthub/go-mysql-server v0.20.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)

replace github.com/seed-069badc9/mcp-gateway => ../..
