import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KNOWN_VARIABLES } from '../../router/src/config/config.ts';
import { ACCOUNT_STATES } from '../../router/src/core/cluster/account-state.ts';
import { MESSAGE_REASONS } from '../../router/src/core/messages/inbound-message.ts';
import { DEAD_REPLY_REASONS } from '../../router/src/core/ports/outbox.ts';
import { anchorOf } from '../../router/src/features/pages/documentation.ts';
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
  const settings = new Set(KNOWN_VARIABLES);
  const codes = [...literals, ...given].map(([, code, other]) => code ?? other ?? '');
  return [...new Set(codes)].filter((code) => !settings.has(code) && !OTHERS.test(code)).sort();
}

/** Reasons that functions of the database write, which the compiler does not see. */
const storedReasons = [...functions.matchAll(/\breason\s*:?=\s*'([a-z-]+)'/g)].map(
  ([, reason = '']) => reason,
);

const REASONS: readonly string[] = [...MESSAGE_REASONS, ...DEAD_REPLY_REASONS];

/** The lines of the page from one heading to the next of its level. */
function section(title: string): string {
  const [, after = ''] = page.split(`\n## ${title}\n`);
  return after.split(/^## /m)[0] ?? '';
}

const titlesOf = (title: string) => [...section(title).matchAll(/^### (.+)$/gm)].map(([, name = '']) => name);

describe('docs/troubleshooting.md', () => {
  it('has an entry for every error code', () => {
    const codes = codesOfSource();
    expect(codes).toContain('AGENT_TIMEOUT');
    expect(codes).toContain('INTERNAL');
    expect(codes.filter((code) => !anchors.includes(anchorOf(code)))).toEqual([]);
  });

  it('has an entry for every reason of a message or reply, and for no other', () => {
    expect(REASONS).toEqual(
      expect.arrayContaining(['no-route', 'too-old', 'agent-empty', 'send-failed', 'edit-applied']),
    );
    expect(titlesOf('Messages that get no answer').sort()).toEqual([...MESSAGE_REASONS].sort());
    expect(titlesOf('Dead letters of replies').sort()).toEqual([...DEAD_REPLY_REASONS].sort());
    expect(storedReasons).toContain('duplicate');
    expect(storedReasons.filter((reason) => !REASONS.includes(reason))).toEqual([]);
  });

  it('says once for every reason what the person sees, and for no reason that does not exist', () => {
    const rows = [...section('What the person sees').matchAll(/^\| (\[.+?) \| (.+?) \|/gm)];
    const listed = rows.flatMap(([, cell = '']) =>
      [...cell.matchAll(/\[`([^`]+)`\]/g)].map(([, name = '']) => name),
    );
    expect(listed.sort()).toEqual([...REASONS, ...titlesOf('Dead letters of messages')].sort());
  });

  it('has an entry for every account state', () => {
    expect(anchors).toEqual(expect.arrayContaining([...ACCOUNT_STATES]));
  });

  it('has no entry for a code that does not exist', () => {
    const titles = [...page.matchAll(/^### ([A-Z][A-Z_]+)$/gm)].map(([, title = '']) => title);
    const codes = codesOfSource();
    const built = titles.filter((title) => !codes.includes(title));
    // Composed in the source: INVALID_ and the field.
    expect(built.filter((code) => !/^INVALID_[A-Z_]+$/.test(code))).toEqual([]);
  });

  it('has each entry once, with a text', () => {
    expect(new Set(anchors).size).toBe(anchors.length);
    expect(page).not.toMatch(/^### .+\n+(?=#|$(?![\s\S]))/m);
  });
});
