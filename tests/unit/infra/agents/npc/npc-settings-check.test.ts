import { describe, expect, it } from 'vitest';
import { npcSettings, npcSettingsProblems } from '../../../../../router/src/infra/agents/npc/npc-settings.ts';

describe('npcSettingsProblems', () => {
  it('finds no mistake in usual settings', async () => {
    const settings = {
      capability: 'duel',
      params: { wager: '5', note: '{{text}}' },
      output: '{{result.hash}}',
    };
    expect(await npcSettingsProblems(npcSettings.parse(settings))).toEqual([]);
  });

  it.each([
    [{ output: '{{#a}}' }, 'output', /never closes/],
    [{ params: { a: '{{nothing}}' } }, 'params', /the variables are text/],
    [{ params: { a: '{{media}}' } }, 'params', /take no files/],
    [{ capability: 'duel', params: { wager: 'lots' } }, 'params.wager', /^must be an amount in wei/],
  ])('finds the mistake in %j', async (settings, field, message) => {
    expect(await npcSettingsProblems(npcSettings.parse(settings))).toContainEqual({
      field,
      said: expect.objectContaining({ sentence: expect.stringMatching(message) }),
    });
  });
});
