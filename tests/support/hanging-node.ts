// A node whose main thread is blocked without end by some texts, with the production watchdog: a separate program, because a process
// that hangs ends. `node hanging-node.js DATABASE_URL [TEXT ...]`: each text is a message of another person. Over `poison` it hangs
// when the agent answers, over `unsendable` when the reply is sent. A text after `journal:` was decrypted and is not in
// the inbox; over `unstorable` it hangs when that is stored. All its times run 20 times as fast.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../router/src/core/clock.ts';
import { receiveMessage } from '../../router/src/core/cluster/account-events.ts';
import { ChatPlacement } from '../../router/src/core/cluster/chat-placement.ts';
import { AccountRegistry } from '../../router/src/core/cluster/cluster-view.ts';
import { ReplyDelivery } from '../../router/src/core/delivery/deliver-reply.ts';
import { mintWaMessageId } from '../../router/src/core/delivery/send-message.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import type { ChatProvider } from '../../router/src/core/ports/chat-provider.ts';
import type { Fence } from '../../router/src/core/ports/cluster.ts';
import { ChatWorkers } from '../../router/src/core/turns/chat-workers.ts';
import { PostgresAccountStore } from '../../router/src/features/accounts/postgres-account-store.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { parseDataKeys, SecretCipher } from '../../router/src/infra/db/encryption/secret-cipher.ts';
import { Postgres } from '../../router/src/infra/db/postgres.ts';
import { PostgresAccountLeases } from '../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../router/src/infra/db/stores/postgres-outbox.ts';
import { Watchdog } from '../../router/src/infra/watchdog/watchdog.ts';
import type { OrdinaryStanza } from '../../router/src/providers/baileys/inbound/read-stanza.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { answerDeps } from './answering.ts';
import { quietLog } from './quiet-log.ts';

type DeliverDeps = ConstructorParameters<typeof ReplyDelivery>[0];

const FASTER = 20;
const clock: Clock = {
  now: systemClock.now,
  monotonicMs: () => systemClock.monotonicMs() * FASTER,
  sleep: (ms, signal) => systemClock.sleep(ms / FASTER, signal),
};

const [databaseUrl = '', ...texts] = process.argv.slice(2);
const current = new Watchdog({ format: 'json', silentMs: 30_000 / FASTER });
const secrets = new SecretCipher(parseDataKeys('0'.repeat(64), 'the test key'));
const postgres = new Postgres(databaseUrl, { poolSize: 3, secrets });
const accountId = 'default';
await new PostgresAccountStore(postgres).save(accountId, { state: 'open' });
const lease = await new PostgresAccountLeases(postgres, { owner: 'n1', ttlMs: 60_000 }).acquire(accountId);
if (!lease) throw new Error('another node has the account');
const held = { isHeld: () => true, isTakeOver: false, verify: async () => undefined, lose: () => undefined };
const fence: Fence = { ...lease, ...held };
const inbox = new PostgresInbox(postgres);
const registry = new AccountRegistry();
const stopping = new AbortController();
// `hello` is answered while the turn of `poison` waits for the database.
let poisonBegins: () => void = () => undefined;
const poisoned = new Promise<void>((resolve) => {
  poisonBegins = resolve;
});
const answer = {
  ...answerDeps({
    inbox,
    clock,
    stopping: stopping.signal,
    beforeRequest: async ({ text }) => {
      if (text === 'poison') poisonBegins();
    },
    agent: async ({ text }) => {
      if (text === 'poison') hang();
      if (text === 'hello' && texts.includes('poison')) await poisoned;
      return { success: true, response: `re ${text}` };
    },
  }),
  current,
  accounts: registry,
  mintId: () => mintWaMessageId(randomBytes(9)),
};
const workers = new ChatWorkers({
  nodeId: 'n1',
  placement: new ChatPlacement('n1', clock),
  bus: new MemoryNodeHub().connect('n1'),
  clock,
  stopping,
  answer,
});
const provider: DeliverDeps['provider'] = {
  accountId,
  status: () => ({ accountId, state: 'open', nextAction: '', sinceMs: 0 }),
  untilLimitsKnown: () => undefined,
  send: async ({ text }: OutgoingMessage) => {
    if (text === 're unsendable') hang();
  },
  upload: async () => {
    throw new Error('no reply has a file');
  },
};
const outbox = new PostgresOutbox(postgres, fence);
const { suspects } = workers;
const delivery = new ReplyDelivery({ outbox, provider, fence, current, suspects, clock, log: quietLog });
// Chat workers ask the account for no more.
registry.add({ provider: provider as ChatProvider, delivery });
await workers.start();
void delivery.resume();
const receive = receiveMessage.bind(undefined, { inbox, workers, log: quietLog });
if (texts.some((text) => text.startsWith('journal:'))) await replay();
const said = texts.filter((text) => !text.startsWith('journal:'));
await Promise.all(
  said.map((text, index) => {
    const person = { phone: `5493777${process.pid}${index}` };
    const chat = { kind: 'person' as const, ...person };
    const sentAtMs = Date.now();
    const of = { accountId: 'default', chat, sender: person, waMessageId: `WA${person.phone}` };
    return receive({ ...of, kind: 'text', text, sentAtMs, stanzaOrder: BigInt(sentAtMs) });
  }),
);
// Nothing else keeps a process without a server alive.
setInterval(() => undefined, 60_000);

/** Stores the texts after `journal:` in the journal and handles what it has. Loads Baileys, which other nodes do not need. */
async function replay(): Promise<void> {
  const { encodeWAMessage } = await import('@whiskeysockets/baileys');
  const { InboundRunner } = await import('../../router/src/providers/baileys/inbound/inbound-runner.ts');
  const { journalEntryOf } = await import('../../router/src/providers/baileys/inbound/read-stanza.ts');
  const entries = texts.flatMap((text, index) => {
    const [, written] = /^journal:(.+)/.exec(text) ?? [];
    if (written === undefined) return [];
    const id = `JN${process.pid}${index}`;
    const from = `5493778${process.pid}${index}@s.whatsapp.net`;
    const attrs = { id, from, t: String(Math.floor(Date.now() / 1_000)) };
    const stanza = { attrs, hash: id, id, node: { tag: 'message', attrs } } as unknown as OrdinaryStanza;
    const plaintexts = [encodeWAMessage({ conversation: written })];
    return [journalEntryOf(stanza, BigInt(Date.now() + index), plaintexts, [])];
  });
  const journal = new PostgresJournal(postgres, fence);
  const change = { puts: [], deletes: [], journal: entries };
  await new PostgresKeyStore(postgres, fence).commit({ accountId, generation: 1 }, change);
  const runner = new InboundRunner({
    accountId,
    journal,
    receive: async (message) => {
      if (message.text === 'unstorable') hang();
      await receive(message);
    },
    toStore: () => undefined,
    stored: () => undefined,
    onTrouble: () => undefined,
    onStorageFailed: () => undefined,
    onRefused: () => undefined,
    onJournalUnreadable: () => undefined,
    onOverflow: () => undefined,
    onReceiptSent: () => undefined,
    phoneOfLid: async () => undefined,
    own: () => ({ id: '5493777000000@s.whatsapp.net', lid: '' }),
    whatsAppNow: () => Date.now(),
    current,
    clock,
    log: quietLog,
    maxMessageAgeMs: () => 86_400_000,
    random: () => 0,
  });
  await runner.replay();
}

/** As a pattern does that backtracks: no timer, promise or signal handler runs again. */
function hang(): never {
  for (;;) if (/^(?:a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')) throw new Error('it cannot match');
}
