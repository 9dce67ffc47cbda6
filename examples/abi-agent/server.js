import { startAgent } from './agent.js';

const server = await startAgent(Number(process.env.PORT ?? 80));
console.log(`ABI agent listens on port ${server.address().port}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close(() => process.exit(0)));
