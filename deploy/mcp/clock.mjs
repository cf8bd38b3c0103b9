// A small MCP server without dependencies, in place of yours.
import { createInterface } from 'node:readline';

const tool = {
  name: 'now',
  description: 'Returns the current time in UTC.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'clock', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': () => ({ content: [{ type: 'text', text: new Date().toISOString() }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return; // a notification
  const handle = methods[method];
  const answer = handle
    ? { result: handle(params ?? {}) }
    : { error: { code: -32601, message: `there is no method ${method}` } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\n');
});
