import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentKind } from '../../router/src/infra/agents/agent-kind.ts';
import { agentKinds } from '../../router/src/infra/agents/agent-kinds.ts';
import { readDocument } from '../support/documents.ts';
import { PAGES_WITH_TABLES, withRouteTables } from '../support/route-docs.ts';

describe('the generated tables of settings (node scripts/write-docs.mjs)', () => {
  it.each(PAGES_WITH_TABLES)('are current in %s', (path) => {
    const page = readDocument(path);
    expect(page).toMatch(/<!-- generated: \w+ -->\n\n\| Field \|/);
    expect(withRouteTables(page, agentKinds)).toBe(page);
  });

  it('cover every agent kind', () => {
    const pages = PAGES_WITH_TABLES.map(readDocument).join('\n');
    for (const { name } of agentKinds) expect(pages).toContain(`<!-- generated: ${name} -->`);
  });

  it('describe the type, requirement and meaning of each field', () => {
    const kind = agentKind({
      name: 'probe',
      description: 'A kind of this test.',
      settings: z.strictObject({
        count: z.int().min(1).max(9).describe('How many.'),
        mode: z.enum(['a', 'b']).optional().describe('Which one.'),
        part: z
          .strictObject({ on: z.boolean().describe('Whether.') })
          .optional()
          .describe('A part.'),
      }),
      endpointOf: (endpoint) => endpoint,
      client: () => () => ({ sendMessage: async () => ({ success: true }) }),
    });
    const page = withRouteTables('<!-- generated: probe -->\nold\n<!-- end -->', [kind]);
    expect(page.split('\n').filter((line) => line.startsWith('| `'))).toEqual([
      '| `config.probe.count` | 1 to 9 | **Required.** How many. |',
      '| `config.probe.mode` | `a`, `b` | Which one. |',
      '| `config.probe.part` | object | A part. |',
      '| `config.probe.part.on` | `true`, `false` | **Required.** Whether. |',
    ]);
    expect(page).not.toContain('old');
  });
});
