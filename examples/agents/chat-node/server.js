// Starts the agent as wa2ai runs it: PORT, HOST, DATA_DIR and AGENT_TOKEN_FILE come from wa2ai.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createAgent } from './agent.js';

const { PORT = '8080', HOST = '0.0.0.0', DATA_DIR = './data', AGENT_TOKEN_FILE } = process.env;
const token = AGENT_TOKEN_FILE ? readFileSync(AGENT_TOKEN_FILE, 'utf8').trim() : undefined;

const server = createServer(createAgent({ dataDir: DATA_DIR, token }));
server.listen(Number(PORT), HOST, () => console.log(`agent listens on port ${PORT}`));

// wa2ai stops an idle agent with SIGTERM, and ends it ten seconds later.
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
