import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GroupNames } from '../../../../../router/src/providers/baileys/connection/group-names.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

const group = (number: number) => `1203630000000${number}@g.us`;

function setup() {
  const asked: string[] = [];
  const stored: string[] = [];
  const open: Array<{ answer(name: string): void; refuse(): void }> = [];
  const failure: { ofStore: Error | undefined } = { ofStore: undefined };
  const log = recordingLog();
  const names = new GroupNames({
    ask: (jid) => {
      asked.push(jid);
      return new Promise((resolve, reject) => {
        open.push({ answer: resolve, refuse: () => reject(new Error('forbidden')) });
      });
    },
    store: async (groupId, name) => {
      if (failure.ofStore) throw failure.ofStore;
      stored.push(`${groupId} ${name}`);
    },
    log,
  });
  const settled = async (act: () => void) => {
    act();
    await setImmediate();
  };
  return { names, asked, stored, open, failure, log, settled };
}

describe('names of groups', () => {
  it('are asked for one at a time, once, and stored', async () => {
    const { names, asked, stored, open, settled } = setup();
    for (const number of [1, 2, 1, 1]) names.want(group(number));
    expect(asked).toEqual([group(1)]);
    await settled(() => open[0]?.answer('Tennis'));
    expect(names.get(group(1))).toBe('Tennis');
    expect(asked).toEqual([group(1), group(2)]);
    await settled(() => open[1]?.answer('Chess'));
    names.want(group(1));
    expect(asked).toHaveLength(2);
    expect(stored).toEqual([`${group(1).slice(0, -5)} Tennis`, `${group(2).slice(0, -5)} Chess`]);
  });

  it('are not asked for again soon when WhatsApp does not tell, and those of other groups are', async () => {
    const { names, asked, open, settled } = setup();
    names.want(group(1));
    names.want(group(2));
    await settled(() => open[0]?.refuse());
    expect(asked).toEqual([group(1), group(2)]);
    await settled(() => open[1]?.answer('Chess'));
    names.want(group(1));
    names.want(group(3));
    expect(asked).toEqual([group(1), group(2), group(3)]);
  });

  it('are asked for of 200 groups at most while WhatsApp does not answer', async () => {
    const { names, asked, open, settled } = setup();
    for (let number = 0; number < 500; number++) names.want(group(number));
    for (let answered = 0; answered < open.length; answered++) {
      await settled(() => open[answered]?.answer(`Group ${answered}`));
    }
    expect(asked).toHaveLength(200);
    names.want(group(400));
    expect(asked).toHaveLength(201);
  });

  it('that WhatsApp says by itself are stored when they are new, and not asked for', async () => {
    const { names, asked, stored } = setup();
    for (const name of ['Tennis', 'Tennis', 'Tennis on Sunday', '']) await names.heard(group(1), name);
    await names.heard('34600000001@s.whatsapp.net', 'nobody');
    names.want(group(1));
    expect(stored.map((each) => each.replace(/\d+ /, ''))).toEqual(['Tennis', 'Tennis on Sunday']);
    expect([names.get(group(1)), asked]).toEqual(['Tennis on Sunday', []]);
  });

  it('are in the next message also when they cannot be stored', async () => {
    const { names, failure, log } = setup();
    failure.ofStore = new Error('the database is away');
    await names.heard(group(1), 'Tennis');
    expect(names.get(group(1))).toBe('Tennis');
    expect(log.lines.map(({ message }) => message)).toEqual(['name of a group not stored']);
  });
});
