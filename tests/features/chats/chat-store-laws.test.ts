import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../router/src/core/messages/inbound-message.ts';
import type { ChatStore } from '../../../router/src/core/ports/chat-store.ts';
import type { Inbox } from '../../../router/src/core/ports/inbox.ts';
import { PostgresChatStore } from '../../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { aMessage, anAccount, aPerson, drain, NODE } from '../../contracts/adapters.ts';
import { MemoryChatStore } from '../../doubles/memory-chat-store.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryState } from '../../doubles/memory-state.ts';
import { testDatabase } from '../../support/database.ts';
import { runs } from '../../support/property-runs.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Opened {
  chats: ChatStore;
  inbox: Inbox;
  now(): number;
  /** Makes everything of the account so much older. */
  age(accountId: string, ms: number): Promise<void>;
}

const database = testDatabase();

const adapters: Array<[string, () => Opened]> = [
  [
    'memory',
    () => {
      let nowMs = Date.UTC(2026, 0, 1);
      const state = new MemoryState(() => nowMs);
      return {
        chats: new MemoryChatStore(state),
        inbox: new MemoryInbox(state),
        now: () => nowMs,
        age: async (_, ms) => {
          nowMs += ms;
        },
      };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const postgres = database.open();
      return {
        chats: new PostgresChatStore(postgres),
        inbox: new PostgresInbox(postgres),
        now: () => Date.now(),
        age: async (accountId, ms) => {
          const by = sql`${ms}::float8 * interval '1 millisecond'`;
          await postgres.execute(sql`UPDATE chat SET access_asked_at = access_asked_at - ${by},
            paused_at = paused_at - ${by}, paused_until = paused_until - ${by} WHERE account_id = ${accountId}`);
          await postgres.execute(
            sql`UPDATE message SET received_at = received_at - ${by} WHERE account_id = ${accountId}`,
          );
        },
      };
    },
  ],
];

describe.each(adapters)('the laws of chats in %s', (_name, open) => {
  let stores: Opened;
  beforeAll(() => {
    stores = open();
  });
  const add = (accountId: string, person = aPerson(), given: Partial<InboundMessage> = {}) =>
    stores.inbox.add(aMessage(accountId, person, { sentAtMs: stores.now(), ...given }), NODE);
  const accessOf = async (chatId: string) => (await stores.chats.get(chatId))?.access;

  it('need an operator when a message has waited for its answer for five minutes', async () => {
    const accountId = anAccount();
    const { chatId } = await add(accountId);
    await stores.age(accountId, 4 * MINUTE);
    expect((await stores.chats.get(chatId))?.needs).toBeUndefined();
    await stores.age(accountId, MINUTE);
    expect((await stores.chats.get(chatId))?.needs).toEqual(['unanswered']);
  });

  it('never ask the owner about more than three chats in an hour, and approve none by themselves', async () => {
    const step = fc.oneof(
      fc.record({ ask: fc.nat(7) }),
      fc.record({ refuse: fc.nat(7) }),
      fc.record({ passMs: fc.constantFrom(MINUTE, 20 * MINUTE, HOUR, 3 * DAY, 8 * DAY) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const accountId = anAccount();
        const chats: string[] = [];
        for (let count = 0; count < 8; count++) chats.push((await add(accountId)).chatId);
        let passedMs = 0;
        const askedAtMs: number[] = [];
        for (const step of steps) {
          if ('passMs' in step) {
            passedMs += step.passMs;
            await stores.age(accountId, step.passMs);
          } else if ('refuse' in step) {
            await stores.chats.decideAccess(chats[step.refuse] ?? '', 'refused', NODE);
          } else {
            const chatId = chats[step.ask] ?? '';
            const before = await accessOf(chatId);
            const asked = await stores.chats.askAccess(chatId);
            expect(asked?.access).not.toBe('approved');
            if (before !== undefined) expect(asked?.access).toBe(before);
            else if (asked?.access === 'pending') askedAtMs.push(passedMs);
            else expect(await accessOf(chatId)).toBeUndefined();
          }
        }
        for (const atMs of askedAtMs) {
          const within = askedAtMs.filter((other) => other >= atMs && other < atMs + HOUR);
          expect(within.length).toBeLessThanOrEqual(3);
        }
      }),
      runs(15),
    );
  });

  it('forget after 7 days that the owner was asked: nothing is answered, and the next message asks again', async () => {
    const accountId = anAccount();
    const person = aPerson();
    const { chatId, messageId, worker } = await add(accountId, person, { text: 'old' });
    expect((await stores.chats.askAccess(chatId))?.access).toBe('pending');
    await stores.inbox.finishTurn(
      messageId,
      { state: 'ignored', reason: 'access-pending', replies: [] },
      { claim: worker },
    );
    await stores.age(accountId, 7 * DAY - HOUR);
    expect(await accessOf(chatId)).toBe('pending');
    await stores.age(accountId, 2 * HOUR);
    expect(await accessOf(chatId)).toBeUndefined();
    expect((await stores.chats.get(chatId))?.unanswered).toBe(0);
    const again = await add(accountId, person, { text: 'new' });
    expect(again.turn?.access).toBeUndefined();
    expect((await stores.chats.askAccess(chatId))?.access).toBe('pending');
    const { worker: claim } = (await stores.chats.decideAccess(chatId, 'approved', NODE)) ?? {};
    if (!claim) throw new Error('the chat was claimed');
    expect(await drain(stores.inbox, claim)).toEqual(['new']);
  });

  it('extend a pause with what the owner writes, and never shorten it', async () => {
    const wrote = fc.record({
      forMs: fc.integer({ min: 1, max: 2 * HOUR }),
      agoMs: fc.integer({ min: 0, max: HOUR }),
      passMs: fc.integer({ min: 0, max: 10 * MINUTE }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(wrote, { minLength: 1, maxLength: 15 }), async (all) => {
        const accountId = anAccount();
        const person = aPerson();
        let until = 0;
        let passedMs = 0;
        for (const { forMs, agoMs, passMs } of all) {
          passedMs += passMs;
          await stores.age(accountId, passMs);
          const { chatId } = await add(accountId, person, {
            sender: aPerson(),
            sentAtMs: stores.now() - agoMs,
            ownerEffect: { kind: 'takeover', forMs },
            ignoredReason: 'owner-message',
          });
          const shown = (await stores.chats.get(chatId))?.pause?.until?.getTime();
          if (shown === undefined) continue;
          const nextUntil = shown - stores.now() + passedMs;
          // The clock of the database goes on between two steps.
          expect(nextUntil).toBeGreaterThanOrEqual(until - 1_000);
          until = Math.max(until, nextUntil);
        }
      }),
      runs(15),
    );
  });
});
