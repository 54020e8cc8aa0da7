// The TypeScript client that speaks both eras: the handshake, and protocol revision 2026-07-28.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { converse, readTask } from './session.mjs';

const task = await readTask();
const client = new Client({ name: 'sdk-v2', version: '1' }, { versionNegotiation: { mode: task.mode } });
const transport = task.url
  ? new StreamableHTTPClientTransport(new URL(task.url), { requestInit: { headers: task.headers } })
  : new StdioClientTransport({ command: task.command, args: task.args, stderr: 'inherit' });
await client.connect(transport);
await converse(client, task, () => client.getNegotiatedProtocolVersion());
