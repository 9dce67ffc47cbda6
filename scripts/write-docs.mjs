// Writes what the documentation says about settings from the schemas of the program, which it builds first:
// .env.example, docs/settings.md, and the tables in the pages about routes and agents. Counts the lines of the main path
// in docs/architecture.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { prepare } from './build.mjs';

await prepare();
const { agentKinds } = await import('../dist/router/src/infra/agents/agent-kinds.js');
const { envExample, settingsPage } = await import('../dist/tests/support/config-docs.js');
const { PAGES_WITH_TABLES, withRouteTables } = await import('../dist/tests/support/route-docs.js');

const at = (path) => new URL(`../${path}`, import.meta.url);
writeFileSync(at('.env.example'), envExample());
writeFileSync(at('docs/settings.md'), settingsPage());
for (const path of PAGES_WITH_TABLES) {
  writeFileSync(at(path), withRouteTables(readFileSync(at(path), 'utf8'), agentKinds));
}

const architecture = at('docs/architecture.md');
const page = readFileSync(architecture, 'utf8');
const counts = [];
const counted = page.replace(/^(\| \d+ \| `\w+` \| `)([^`]+)(` \| )\d+ \|/gm, (_, before, file, between) => {
  const lines = readFileSync(at(file), 'utf8').split('\n').length - 1;
  counts.push({ file, lines });
  return `${before}${file}${between}${lines} |`;
});
const beforeCore = counts.slice(
  0,
  counts.findIndex(({ file }) => file.startsWith('router/src/core/')),
);
const hundreds = (rows) =>
  (Math.round(rows.reduce((sum, { lines }) => sum + lines, 0) / 100) * 100).toLocaleString('en');
writeFileSync(
  architecture,
  counted
    .replace(/\d+ files and about [\d,]+ lines/, `${counts.length} files and about ${hundreds(counts)} lines`)
    .replace(
      /of which \d+ files and(\s)[\d,]+ lines/,
      `of which ${beforeCore.length} files and$1${hundreds(beforeCore)} lines`,
    ),
);
