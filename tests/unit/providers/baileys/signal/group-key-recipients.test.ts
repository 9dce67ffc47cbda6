import type { SignalDataSet } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { GroupKeyRecipients } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';

type RecipientKeys = ConstructorParameters<typeof GroupKeyRecipients>[0];

const MEMORY = 'sender-key-memory';

function setup(stored: Record<string, Record<string, boolean>> = {}) {
  const sets: SignalDataSet[] = [];
  // any category's type
  const records: Record<string, never> = { ...stored } as Record<string, never>;
  const keys: RecipientKeys = {
    get: async (category, keyIds) =>
      Object.fromEntries(
        keyIds.flatMap((id) => (category === MEMORY && records[id] ? [[id, records[id]]] : [])),
      ),
    set: async (data) => {
      sets.push(data);
      Object.assign(records, data[MEMORY]);
    },
  };
  return { recipients: new GroupKeyRecipients(keys), sets };
}

describe('the recipients of a group key', () => {
  it('are stored when the message with the key is written, and known before', async () => {
    const { recipients, sets } = setup();
    await recipients.keys.set({ [MEMORY]: { g: { a: true } } });
    expect(sets).toEqual([]);
    expect(await recipients.keys.get(MEMORY, ['g', 'h'])).toEqual({ g: { a: true } });
    recipients.written('g');
    expect(sets).toEqual([{ [MEMORY]: { g: { a: true } } }]);
    recipients.written('g');
    expect(sets).toHaveLength(1);
  });

  it('are those before when the message was not written', async () => {
    const { recipients, sets } = setup({ g: { a: true } });
    await recipients.keys.set({ [MEMORY]: { g: { a: true, b: true } } });
    recipients.failed('g');
    recipients.written('g');
    expect(await recipients.keys.get(MEMORY, ['g'])).toEqual({ g: { a: true } });
    expect(sets).toEqual([]);
  });

  it('are not stored again when nobody is new', async () => {
    const { recipients, sets } = setup({ g: { a: true } });
    await recipients.keys.set({ [MEMORY]: { g: { a: true } } });
    recipients.written('g');
    expect(sets).toEqual([]);
  });

  it('are forgotten at once when Baileys deletes them', async () => {
    const { recipients, sets } = setup({ g: { a: true } });
    await recipients.keys.set({ [MEMORY]: { g: { a: true, b: true } } });
    await recipients.keys.set({ [MEMORY]: { g: null } });
    recipients.written('g');
    expect(sets).toEqual([{ [MEMORY]: { g: null } }]);
    expect(await recipients.keys.get(MEMORY, ['g'])).toEqual({});
  });

  it('cannot be changed through a read value', async () => {
    const { recipients } = setup();
    await recipients.keys.set({ [MEMORY]: { g: { a: true } } });
    const { g } = await recipients.keys.get(MEMORY, ['g']);
    if (g) g.b = true;
    expect(await recipients.keys.get(MEMORY, ['g'])).toEqual({ g: { a: true } });
  });

  it('do not delay other keys', async () => {
    const { recipients, sets } = setup();
    await recipients.keys.set({ [MEMORY]: { g: { a: true } }, 'device-list': { x: ['0'] } });
    expect(sets).toEqual([{ 'device-list': { x: ['0'] } }]);
  });
});
