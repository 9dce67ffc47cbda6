// Writes what the documentation says about settings from the schemas of the built program (npm run build first):
// .env.example, docs/settings.md, and the tables in the pages about routes and agents.
import { readFileSync, writeFileSync } from 'node:fs';
import { agentKinds } from '../dist/router/src/infra/agents/agent-kinds.js';
import { envExample, settingsPage } from '../dist/tests/support/config-docs.js';
import { PAGES_WITH_TABLES, withRouteTables } from '../dist/tests/support/route-docs.js';

const at = (path) => new URL(`../${path}`, import.meta.url);
writeFileSync(at('.env.example'), envExample());
writeFileSync(at('docs/settings.md'), settingsPage());
for (const path of PAGES_WITH_TABLES) {
  writeFileSync(at(path), withRouteTables(readFileSync(at(path), 'utf8'), agentKinds));
}
