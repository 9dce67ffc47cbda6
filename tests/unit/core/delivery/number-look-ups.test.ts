import { describe, expect, it } from 'vitest';
import { NumberLookUps } from '../../../../router/src/core/delivery/govern-contacts.ts';
import { LookUpFailedError, NotConnectedError } from '../../../../router/src/core/errors.ts';
import type { AccountStatus } from '../../../../router/src/core/ports/chat-provider.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

function setup(isOnWhatsApp?: (phone: string) => Promise<boolean>) {
  const clock = new FakeClock();
  const kept: unknown[][] = [];
  const asked: string[] = [];
  const status: AccountStatus = { accountId: 'a', state: 'open', nextAction: '', sinceMs: 0 };
  const ask = isOnWhatsApp ?? (async () => true);
  const provider = {
    accountId: 'a',
    status: () => status,
    isOnWhatsApp: (phone: string) => {
      asked.push(phone);
      return ask(phone);
    },
  };
  const outbox = { keepNumberCheck: async (...answer: unknown[]) => void kept.push(answer) };
  const look = new NumberLookUps({ provider, outbox, clock, log: quietLog });
  return { look, clock, kept, asked, status, provider, outbox };
}

describe('NumberLookUps', () => {
  it('stores the answer before it is used', async () => {
    const { look, kept } = setup(async (phone) => phone === '1');
    expect(await look.lookUp('1')).toEqual({ kind: 'known', isOnWhatsApp: true });
    expect(await look.lookUp('2')).toEqual({ kind: 'known', isOnWhatsApp: false });
    expect(kept).toEqual([
      ['a', '1', true],
      ['a', '2', false],
    ]);
  });

  it('asks once for calls about the same number at the same time', async () => {
    const { look, asked } = setup();
    await Promise.all([look.lookUp('1'), look.lookUp('1')]);
    expect(asked).toEqual(['1']);
  });

  it('asks about at most ten numbers at once and ten a minute, and says when to try again', async () => {
    const { look, asked, clock } = setup();
    for (let phone = 0; phone < 10; phone++) await look.lookUp(`${phone}`);
    expect(await look.lookUp('10')).toMatchObject({ kind: 'wait', forMs: 6_000 });
    await clock.advanceMs(6_000);
    expect(await look.lookUp('10')).toMatchObject({ kind: 'known' });
    expect(await look.lookUp('11')).toMatchObject({ kind: 'wait' });
    expect(asked).toHaveLength(11);
  });

  it('waits longer after each question in a row that WhatsApp did not answer, at most 15 minutes', async () => {
    const { look, clock, kept } = setup(async () => {
      throw new LookUpFailedError({ sentence: 'No answer.' });
    });
    const waits: number[] = [];
    for (let n = 0; n < 20; n++) {
      const found = await look.lookUp('1');
      if (found.kind === 'wait') waits.push(found.forMs);
      await clock.advanceMs(60_000);
    }
    expect(waits.slice(0, 2)).toEqual([60_000, 120_000]);
    expect(waits.at(-1)).toBe(900_000);
    expect(kept).toEqual([]);
  });

  it('asks nothing while the account is not connected', async () => {
    const { look, status, asked } = setup();
    status.state = 'waiting';
    expect(await look.lookUp('1')).toEqual({ kind: 'offline' });
    expect(asked).toEqual([]);
  });

  it('reports a connection that ended meanwhile', async () => {
    const { look, kept } = setup(async () => {
      throw new NotConnectedError('a');
    });
    expect(await look.lookUp('1')).toEqual({ kind: 'offline' });
    expect(kept).toEqual([]);
  });

  it('takes every number for known where no provider can be asked', async () => {
    const { provider, clock, outbox } = setup();
    const silent = { ...provider, isOnWhatsApp: undefined };
    const look = new NumberLookUps({ provider: silent, outbox, clock, log: quietLog });
    expect(await look.lookUp('1')).toEqual({ kind: 'known', isOnWhatsApp: true });
  });
});
