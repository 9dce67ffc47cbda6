import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe } from 'vitest';
import { NodeBus } from '../../router/src/core/cluster/node-bus.ts';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import type { ChatStore } from '../../router/src/core/ports/chat-store.ts';
import type { Lease } from '../../router/src/core/ports/cluster.ts';
import type { ChatClaim, Inbox, Stored } from '../../router/src/core/ports/inbox.ts';
import type { ChatHistory, MessageLog } from '../../router/src/core/ports/message-log.ts';
import type { Outbox } from '../../router/src/core/ports/outbox.ts';
import type { Drafts, Questions, ReplyTokens } from '../../router/src/core/ports/pending-answers.ts';
import type { RouteStore } from '../../router/src/core/ports/route-store.ts';
import type { RemoteTasks } from '../../router/src/core/tasks.ts';
import type { NewReply, TurnResult } from '../../router/src/core/turns/turn.ts';
import { PostgresAccountStore } from '../../router/src/features/accounts/postgres-account-store.ts';
import { PostgresChatStore } from '../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../../router/src/features/chats/postgres-message-log.ts';
import {
  type DeadLetters,
  PostgresDeadLetters,
} from '../../router/src/features/dead-letters/dead-letters.ts';
import { PostgresDrafts } from '../../router/src/features/drafts/postgres-drafts.ts';
import { PostgresRemoteTasks } from '../../router/src/features/tasks/postgres-remote-tasks.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { PostgresAccountLeases } from '../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresChatHistory } from '../../router/src/infra/db/stores/postgres-chat-history.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresQuestions } from '../../router/src/infra/db/stores/postgres-questions.ts';
import { PostgresReplyTokens } from '../../router/src/infra/db/stores/postgres-reply-tokens.ts';
import { PostgresRouteStore } from '../../router/src/infra/db/stores/postgres-route-store.ts';
import { MemoryChatHistory } from '../doubles/memory-chat-history.ts';
import { MemoryChatStore } from '../doubles/memory-chat-store.ts';
import { MemoryDeadLetters } from '../doubles/memory-dead-letters.ts';
import { MemoryDrafts } from '../doubles/memory-drafts.ts';
import { MemoryInbox } from '../doubles/memory-inbox.ts';
import { MemoryMessageLog } from '../doubles/memory-message-log.ts';
import { MemoryOutbox } from '../doubles/memory-outbox.ts';
import { MemoryQuestions } from '../doubles/memory-questions.ts';
import { MemoryRemoteTasks } from '../doubles/memory-remote-tasks.ts';
import { MemoryReplyTokens } from '../doubles/memory-reply-tokens.ts';
import { MemoryRouteStore } from '../doubles/memory-route-store.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { createTestDatabase } from '../support/database.ts';

/** The stores of one adapter, on one database or one memory. */
export interface Stores {
  inbox: Inbox;
  outbox: Outbox;
  routes: RouteStore;
  log: MessageLog;
  deadLetters: DeadLetters;
  chats: ChatStore;
  drafts: Drafts;
  history: ChatHistory;
  /** Reply tokens that are valid for so long. */
  replyTokens(validMs?: number): ReplyTokens;
  remoteTasks: RemoteTasks;
  questions: Questions;
  /** A valid lease of the account. */
  leaseOf(accountId: string): Promise<Lease>;
  /** Takes the account from a process that ended without a stop. */
  countEnd(accountId: string): Promise<void>;
  close(): Promise<void>;
}

export interface Adapter {
  name: string;
  open(): Promise<Stores>;
}

/** The adapters that every contract is run against. */
export const ADAPTERS: Adapter[] = [
  {
    name: 'memory',
    async open() {
      const state = new MemoryState();
      return {
        inbox: new MemoryInbox(state),
        outbox: new MemoryOutbox(state),
        routes: new MemoryRouteStore(),
        log: new MemoryMessageLog(state),
        deadLetters: new MemoryDeadLetters(state),
        chats: new MemoryChatStore(state),
        drafts: new MemoryDrafts(state),
        history: new MemoryChatHistory(state),
        replyTokens: (validMs) => new MemoryReplyTokens(state, validMs),
        remoteTasks: new MemoryRemoteTasks(state),
        questions: new MemoryQuestions(state),
        leaseOf: async (accountId) => ({ accountId, owner: NODE, epoch: 1n }),
        countEnd: async (accountId) => new MemoryOutbox(state).countEnd(accountId),
        close: async () => undefined,
      };
    },
  },
  {
    name: 'PostgreSQL',
    async open() {
      const database = await createTestDatabase();
      const postgres = database.open();
      const bus = new NodeBus('n1', () => ({ publish: () => undefined, session: 1 }));
      const nodes = { bus, clock: systemClock };
      return {
        inbox: new PostgresInbox(postgres),
        outbox: new PostgresOutbox(postgres),
        routes: new PostgresRouteStore(postgres, nodes),
        log: new PostgresMessageLog(postgres),
        deadLetters: new PostgresDeadLetters(postgres),
        chats: new PostgresChatStore(postgres),
        drafts: new PostgresDrafts(postgres),
        history: new PostgresChatHistory(postgres),
        replyTokens: (validMs) => new PostgresReplyTokens(postgres, validMs),
        remoteTasks: new PostgresRemoteTasks(postgres),
        questions: new PostgresQuestions(postgres, nodes),
        async leaseOf(accountId) {
          await new PostgresAccountStore(postgres).save(accountId, { state: 'starting' });
          const lease = await new PostgresAccountLeases(postgres, { owner: NODE, ttlMs: 60_000 }).acquire(
            accountId,
          );
          if (!lease) throw new Error('another test has the lease');
          return lease;
        },
        countEnd: async (accountId) => void (await postgres.query(sql`SELECT lease_count_end(${accountId})`)),
        close: () => database.drop(),
      };
    },
  },
];

/**
 * Runs a contract's tests against every adapter, or those given. The stores are opened before the tests and closed after them, so they
 * can be used inside tests and hooks only.
 * @param title with `$name` for the adapter's name
 */
export function describeStores(
  title: string,
  define: (stores: Stores, name: string) => void,
  adapters: readonly Adapter[] = ADAPTERS,
): void {
  describe.each(adapters)(title, ({ name, open }) => {
    let opened: Stores | undefined;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.close());
    const current = () => {
      if (opened === undefined) throw new Error('the stores are open inside tests only');
      return opened;
    };
    define(
      {
        get inbox() {
          return current().inbox;
        },
        get outbox() {
          return current().outbox;
        },
        get routes() {
          return current().routes;
        },
        get chats() {
          return current().chats;
        },
        get drafts() {
          return current().drafts;
        },
        get log() {
          return current().log;
        },
        get deadLetters() {
          return current().deadLetters;
        },
        get history() {
          return current().history;
        },
        replyTokens: (validMs) => current().replyTokens(validMs),
        countEnd: (accountId) => current().countEnd(accountId),
        get questions() {
          return current().questions;
        },
        get remoteTasks() {
          return current().remoteTasks;
        },
        leaseOf: (accountId) => current().leaseOf(accountId),
        close: () => current().close(),
      },
      name,
    );
  });
}

/** A new account id, so that tests on one database do not affect one another. */
export function anAccount(): string {
  return `account-${randomBytes(6).toString('hex')}`;
}

let lastOrder = 1_000n;

/** Digits of number and LID of a new person. */
export function aPerson(): { phone: string; lid: string } {
  lastOrder += 1n;
  return { phone: `5493${1_000_000_000n + lastOrder}`, lid: `7${10_000_000_000n + lastOrder}` };
}

/** A text message of a person in a 1:1 chat, later than all earlier ones; `given` replaces fields. */
export function aMessage(
  accountId: string,
  person: { phone?: string; lid?: string },
  given: Partial<InboundMessage> = {},
): InboundMessage {
  lastOrder += 1n;
  return {
    accountId,
    waMessageId: `3EB0${lastOrder.toString(16).toUpperCase()}`,
    chat: { kind: 'person', ...person },
    sender: { ...person, pushName: 'Ana' },
    kind: 'text',
    text: `text ${lastOrder}`,
    sentAtMs: Date.UTC(2026, 0, 1, 12),
    stanzaOrder: lastOrder,
    ...given,
  };
}

export function aReply(accountId: string, to: string, text = 'hello'): OutgoingMessage {
  lastOrder += 1n;
  return { accountId, to, waMessageId: `WA2AI${lastOrder}`, text };
}

export function answered(replies: NewReply[] = []): TurnResult {
  return { state: 'answered', replies };
}

/** The node that claims chats in these tests. */
export const NODE = 'node-1';

/** The claim created with a message. @throws when there is none */
export function newClaimOf(stored: Stored): ChatClaim {
  if (!stored.worker || !stored.isNewWorker) throw new Error('no claim was made');
  return stored.worker;
}

/** Answers all waiting messages of a chat; returns their texts in order. */
export async function drain(inbox: Inbox, claim: ChatClaim): Promise<string[]> {
  const texts: string[] = [];
  for (let turns = 0; turns < 1_000; turns++) {
    const turn = await inbox.nextTurn(claim);
    if (!turn) return texts;
    texts.push(turn.message.text);
    await inbox.finishTurn(turn.messageId, answered());
  }
  throw new Error('the chat never becomes idle');
}
