import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { envSchema } from '../../router/src/config/config.ts';
import { CLI_VARIABLES } from '../../router/src/config/unknown-variables.ts';
import { ACCOUNT_STATES } from '../../router/src/core/cluster/account-state.ts';
import { anchorOf } from '../../router/src/infra/faces/pages/docs-pages.ts';
import { anchorsOf, readDocument } from '../support/documents.ts';
import { repositoryRoot } from '../support/repository.ts';

const page = readDocument('docs/troubleshooting.md');
const anchors = anchorsOf(page);

const sources = readdirSync(join(repositoryRoot, 'router/src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.includes('generated'))
  .map((path) => readFileSync(join(repositoryRoot, 'router/src', path), 'utf8'))
  .join('\n');

const functions = readdirSync(join(repositoryRoot, 'prisma/functions'))
  .filter((path) => path.endsWith('.sql'))
  .map((path) => readFileSync(join(repositoryRoot, 'prisma/functions', path), 'utf8'))
  .join('\n');

/** Codes in the source that belong to Node.js, PostgreSQL, DBOS and Linux. */
const OTHERS =
  /^(E[A-Z]+|E[A-Z]+_[A-Z]+|UND_ERR_\w+|ERR_\w+|PG_VERSION|MAX_RECOVERY_ATTEMPTS_EXCEEDED|RESOURCE_EXHAUSTED|NET_ADMIN)$/;

/** Error codes of the source: each literal in capitals with an underscore, and each one passed to an error. */
function codesOfSource(): string[] {
  const literals = [...sources.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g)];
  const given = [...sources.matchAll(/\b(?:\w*Error|super)\(\s*'([A-Z]{3,})'|\(\s*\d{3},\s*'([A-Z]{3,})'/g)];
  const settings = new Set([...Object.keys(envSchema.shape), ...CLI_VARIABLES]);
  const codes = [...literals, ...given].map(([, code, other]) => code ?? other ?? '');
  return [...new Set(codes)].filter((code) => !settings.has(code) && !OTHERS.test(code)).sort();
}

/** Reasons of the source: literals of the types named `...Reason`, and those stored as a result's reason. */
function reasonsOfSource(): string[] {
  const unions = [...sources.matchAll(/type \w*Reason =([^;]+);/g)].map(([, union = '']) => union);
  const named = unions.flatMap((union) => [...union.matchAll(/'([a-z][a-z-]*)'/g)]);
  const stored = [...sources.matchAll(/\breason: [`']([a-z]+(?:-[a-z]+)+)/g)];
  const assigned = [...functions.matchAll(/reason\s*:?=\s*'([a-z-]+)'/g)];
  return [...new Set([...named, ...stored, ...assigned].map(([, reason = '']) => reason))].sort();
}

describe('docs/troubleshooting.md', () => {
  it('has an entry for every error code', () => {
    const codes = codesOfSource();
    expect(codes).toContain('AGENT_TIMEOUT');
    expect(codes).toContain('INTERNAL');
    expect(codes.filter((code) => !anchors.includes(anchorOf(code)))).toEqual([]);
  });

  it('has an entry for every reason of a message or reply', () => {
    const reasons = reasonsOfSource();
    expect(reasons).toEqual(
      expect.arrayContaining(['no-route', 'too-old', 'agent-empty', 'send-failed', 'edit-applied']),
    );
    expect(reasons.filter((reason) => !anchors.includes(anchorOf(reason)))).toEqual([]);
  });

  it('has an entry for every account state', () => {
    expect(anchors).toEqual(expect.arrayContaining([...ACCOUNT_STATES]));
  });

  it('has no entry for a code that does not exist', () => {
    const titles = [...page.matchAll(/^### ([A-Z][A-Z_]+)$/gm)].map(([, title = '']) => title);
    const codes = codesOfSource();
    const built = titles.filter((title) => !codes.includes(title));
    // Composed in the source: INVALID_ and the field, STORAGE_ and the fault; or given without a call.
    expect(built.filter((code) => !/^(INVALID|STORAGE)_[A-Z_]+$/.test(code))).toEqual([]);
  });

  it('has each entry once, with a text', () => {
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(page).not.toMatch(/^### .+\n+(?=#|$(?![\s\S]))/m);
  });
});
