package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// serveStdio lets one client talk to the gateway; nothing else is written to out.
func (d *demo) serveStdio(ctx context.Context, in io.Reader, out, errw io.Writer) error {
	cmd := d.gateway(ctx, "stdio")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errw
	return cmd.Run()
}

const servedText = `The gateway serves the shop at http://%[1]s/mcp until you press Ctrl-C.

Look at it with the MCP Inspector:
  npx @modelcontextprotocol/inspector --cli http://%[1]s/mcp --transport http --method tools/list
  npx @modelcontextprotocol/inspector --cli http://%[1]s/mcp --transport http --method tools/call \
    --tool-name query_mysql --tool-arg datasource=shop --tool-arg sql="SELECT status, COUNT(*) AS n FROM orders GROUP BY status"

Connect a client:
  Claude Code   claude mcp add --transport http evidence http://%[1]s/mcp
  VS Code       .vscode/mcp.json             {"servers":{"evidence":{"type":"http","url":"http://%[1]s/mcp"}}}
  Cursor        .cursor/mcp.json             {"mcpServers":{"evidence":{"url":"http://%[1]s/mcp"}}}
  Windsurf      mcp_config.json              {"mcpServers":{"evidence":{"serverUrl":"http://%[1]s/mcp"}}}
  Gemini CLI    ~/.gemini/settings.json      {"mcpServers":{"evidence":{"httpUrl":"http://%[1]s/mcp"}}}
  Codex         ~/.codex/config.toml         [mcp_servers.evidence]
                                             url = "http://%[1]s/mcp"
  Claude Desktop starts a server of its own: {"mcpServers":{"evidence":{"command":"go","args":["run","-C","%[2]s",".","--stdio"]}}}

Ask, for example: "On 2026-03-14 between 09:00 and 10:00 UTC our checkout failed. Find the cause and cite evidence."
`

// freeLoopback checks an address for --serve; port 0 becomes a free one.
func freeLoopback(listen string) (string, error) {
	a, err := netip.ParseAddrPort(listen)
	if err != nil || !a.Addr().IsLoopback() {
		return "", fmt.Errorf("--listen %s: the demo listens on loopback only, as in 127.0.0.1:8484", listen)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", fmt.Errorf("--listen %s: the port is in use; choose another, or 0 for a free one", listen)
	}
	return l.Addr().String(), l.Close()
}

// serveHTTP runs the gateway on a loopback address until the context ends.
func (d *demo) serveHTTP(ctx context.Context, listen string, out, errw io.Writer) error {
	cmd := d.gateway(ctx, "http")
	cmd.Stdout, cmd.Stderr = errw, errw
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := reachable(listen, ended); err != nil {
		return err
	}
	fmt.Fprintf(out, servedText, listen, sourceDir())
	return <-ended
}

var errEnded = errors.New("the gateway ended")

// reachable waits until the gateway answers or has ended.
func reachable(listen string, ended <-chan error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return errors.Join(errEnded, err)
		case <-tick.C:
			if c, err := net.DialTimeout("tcp", listen, time.Second); err == nil {
				return c.Close()
			}
		}
	}
}
