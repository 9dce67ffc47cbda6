import type { LIDMapping, SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  lidMappingsOver,
  type SignalSteps,
} from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';

const ANA = '34600000002@s.whatsapp.net';
const BEA = '34600000003@s.whatsapp.net';
const ANA_LID = '900000000000002@lid';

function setup(answer: (jids: string[]) => Promise<LIDMapping[] | undefined>) {
  const known = new Map<string, string>();
  const asked: string[][] = [];
  let steps = 0;
  const stored = {
    getLIDsForPNs: async (jids: string[]) =>
      jids.filter((pn) => known.has(pn)).map((pn) => ({ pn, lid: known.get(pn) })),
    getPNForLID: async (lid: string) => [...known].find((pair) => pair[1] === lid)?.[0] ?? null,
  } as unknown as SignalRepositoryWithLIDStore['lidMapping'];
  const mappings = lidMappingsOver(stored, {
    steps: {
      step: (work: () => Promise<unknown>) => {
        steps += 1;
        return work();
      },
    } as SignalSteps,
    learn: async ({ pn, lid }) => {
      known.set(pn, lid);
    },
    queryWhatsApp: (jids) => {
      asked.push(jids);
      return answer(jids);
    },
    withoutLid: new Set<string>(),
  });
  return { mappings, asked, steps: () => steps };
}

describe('lidMappingsOver', () => {
  it('queries an unknown number once', async () => {
    const { mappings, asked } = setup(async () => [{ pn: ANA, lid: ANA_LID }]);
    expect(await mappings.getLIDForPN(ANA)).toBe(ANA_LID);
    expect(await mappings.getLIDForPN(ANA)).toBe(ANA_LID);
    expect(asked).toEqual([[ANA]]);
  });

  it('does not query a number without a LID again', async () => {
    const { mappings, asked } = setup(async () => []);
    for (const _ of [1, 2]) expect(await mappings.getLIDsForPNs([BEA])).toBeNull();
    expect(asked).toEqual([[BEA]]);
  });

  it('queries once for several devices of one person', async () => {
    const { mappings, asked } = setup(async () => undefined);
    await mappings.getLIDsForPNs([ANA, '34600000002:3@s.whatsapp.net']);
    expect(asked).toEqual([[ANA]]);
  });

  it('stores nothing when WhatsApp does not respond, and queries again the next time', async () => {
    const { mappings, asked } = setup(async () => {
      throw new Error('timed out');
    });
    for (const _ of [1, 2]) expect(await mappings.getLIDForPN(ANA)).toBeNull();
    expect(asked).toHaveLength(2);
  });

  it('stores new mappings in one step', async () => {
    const { mappings, steps } = setup(async () => []);
    await mappings.storeLIDPNMappings([]);
    expect(steps()).toBe(0);
    await mappings.storeLIDPNMappings([{ pn: ANA, lid: ANA_LID }]);
    expect(steps()).toBe(1);
    expect(await mappings.getLIDForPN(ANA)).toBe(ANA_LID);
    expect(await mappings.getPNForLID(ANA_LID)).toBe(ANA);
  });
});
