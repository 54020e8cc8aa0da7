// One session of an SDK client with the gateway: the task comes as JSON on standard input, what the client got goes as JSON to standard output. It judges nothing;
// the Go test does. A request that the client throws on is reported as {thrown: {code, message}}.
import process from 'node:process';

export async function readTask() {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

const outcome = (promise) =>
  promise.then(
    (value) => value,
    (error) => ({ thrown: { code: error.code ?? null, message: String(error.message) } }),
  );

export async function converse(client, task, protocol) {
  const report = {
    protocol: protocol(),
    server: client.getServerVersion()?.name,
    capabilities: Object.keys(client.getServerCapabilities() ?? {}).sort(),
    instructions: client.getInstructions() ?? '',
  };
  // Listing first makes the SDKs check every answer against the tool's output schema.
  report.tools = (await client.listTools()).tools;
  report.answers = await Promise.all(
    task.calls.map((c) => outcome(client.callTool({ name: c.tool, arguments: c.args, _meta: { 'dev.mcp-gateway/tool-call-id': c.id } }))),
  );
  const again = task.calls[0];
  report.repeated = await outcome(client.callTool({ name: again.tool, arguments: again.args, _meta: { 'dev.mcp-gateway/tool-call-id': again.id } }));
  report.resources = (await client.listResources()).resources.map((r) => r.uri);
  report.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate).sort();
  report.read = await Promise.all(task.uris.map((uri) => outcome(client.readResource({ uri }))));
  report.prompts = (await client.listPrompts()).prompts.map((p) => p.name);
  report.prompt = await outcome(client.getPrompt({ name: 'diagnose', arguments: { incident: 'checkout answers 502' } }));
  await client.close();
  process.stdout.write(JSON.stringify(report));
}
