// Needs the package viem: run `npm install` in this folder when it is not found. Starts the agent. When wa2ai runs it, PORT, HOST and AGENT_TOKEN_FILE come from wa2ai.
import { readFileSync } from 'node:fs';
import { startAgent } from './agent.js';

const { PORT = '80', HOST = '0.0.0.0', AGENT_TOKEN_FILE } = process.env;
const token = AGENT_TOKEN_FILE && readFileSync(AGENT_TOKEN_FILE, 'utf8').trim();
const server = await startAgent({ port: Number(PORT), host: HOST, token });
console.log(`ABI agent listens on port ${server.address().port}`);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
}
