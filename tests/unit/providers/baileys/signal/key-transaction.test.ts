import type { SignalDataSet } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { KeyTransaction } from '../../../../../router/src/providers/baileys/signal/account-keys.ts';

const session = (keyId: string, value: unknown) => ({ session: { [keyId]: value } }) as SignalDataSet;

describe('KeyTransaction', () => {
  it('is empty until a key is written or a journal row is added', () => {
    const unit = new KeyTransaction();
    expect(unit.isEmpty).toBe(true);
    unit.set({});
    unit.set({ session: undefined });
    expect(unit.isEmpty).toBe(true);
    unit.journal = {
      ciphertextHash: 'h',
      stanzaOrder: 1n,
      waMessageId: '3EB0A',
      plaintext: new Uint8Array(),
      stanza: new Uint8Array(),
    };
    expect(unit.isEmpty).toBe(false);
    expect([...unit.writes]).toEqual([]);
  });

  it('keeps the last write of a key', () => {
    const unit = new KeyTransaction();
    unit.set(session('a', 'first'));
    unit.set(session('b', 'other'));
    unit.set(session('a', 'second'));
    expect([...unit.writes]).toEqual([
      { category: 'session', keyId: 'a', value: 'second' },
      { category: 'session', keyId: 'b', value: 'other' },
    ]);
  });

  it('keeps a deletion, which is a write without a value', () => {
    const unit = new KeyTransaction();
    unit.set(session('a', null));
    expect(unit.get('session', 'a')).toEqual({ category: 'session', keyId: 'a', value: undefined });
    expect(unit.isEmpty).toBe(false);
  });

  it('distinguishes equal key ids of two categories', () => {
    const unit = new KeyTransaction();
    unit.set({ 'lid-mapping': { a: '1' }, 'device-list': { a: ['0'] } });
    expect(unit.get('lid-mapping', 'a')?.value).toBe('1');
    expect(unit.get('device-list', 'a')?.value).toEqual(['0']);
    expect(unit.get('session', 'a')).toBeUndefined();
  });

  it('restores overwritten, deleted and new keys to a savepoint, more than once', () => {
    const unit = new KeyTransaction();
    unit.set(session('a', 'before'));
    const savepoint = unit.savepoint();
    for (const attempt of ['first', 'second']) {
      unit.set(session('a', attempt));
      unit.set(session('b', attempt));
      unit.rollbackTo(savepoint);
      expect([...unit.writes]).toEqual([{ category: 'session', keyId: 'a', value: 'before' }]);
    }
    unit.set(session('a', null));
    unit.rollbackTo(savepoint);
    expect(unit.get('session', 'a')?.value).toBe('before');
  });
});
