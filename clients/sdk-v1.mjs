// The TypeScript SDK of protocol revisions up to 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { converse, readTask } from './session.mjs';

const task = await readTask();
const client = new Client({ name: 'sdk-v1', version: '1' });
const transport = task.url
  ? new StreamableHTTPClientTransport(new URL(task.url), { requestInit: { headers: task.headers } })
  : new StdioClientTransport({ command: task.command, args: task.args, stderr: 'inherit' });

let protocol = '';
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};
await client.connect(transport);
await converse(client, task, () => protocol);
