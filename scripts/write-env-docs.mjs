// Writes .env.example and docs/settings.md from the schema of the built program (npm run build first).
import { writeFileSync } from 'node:fs';
import { envExample, settingsPage } from '../dist/router/src/config/config-docs.js';

const root = new URL('../', import.meta.url);
writeFileSync(new URL('.env.example', root), envExample());
writeFileSync(new URL('docs/settings.md', root), settingsPage());
