import type { SignalDataSet } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { KeyTransaction } from '../../../../../router/src/providers/baileys/signal/account-keys.ts';

const session = (keyId: string, value: unknown) => ({ session: { [keyId]: value } }) as SignalDataSet;

describe('KeyTransaction', () => {
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
