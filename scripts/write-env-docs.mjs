// Writes .env.example and the README's table of settings from the schema of the built program (npm run build first).
import { readFileSync, writeFileSync } from 'node:fs';
import {
  ENV_TABLE_END,
  ENV_TABLE_START,
  envExample,
  envTableMarkdown,
} from '../dist/router/src/config/config-docs.js';

const root = new URL('../', import.meta.url);
const readmePath = new URL('README.md', root);
const readme = readFileSync(readmePath, 'utf8');
const start = readme.indexOf(ENV_TABLE_START);
const end = readme.indexOf(ENV_TABLE_END);
if (start < 0 || end < start) {
  console.error(`README.md lacks the lines ${ENV_TABLE_START} and ${ENV_TABLE_END}.`);
  process.exit(1);
}
writeFileSync(new URL('.env.example', root), envExample());
writeFileSync(
  readmePath,
  `${readme.slice(0, start + ENV_TABLE_START.length)}\n${envTableMarkdown()}\n${readme.slice(end)}`,
);
