// A node whose agent keeps the main thread busy for ever over the text `poison`, with the production watchdog: a program of its
// own, because a process that hangs ends. `node hanging-node.js DATABASE_URL [TEXT ...]`: each text is a message of another person.
// All its times run 20 times as fast.
import { randomBytes } from 'node:crypto';
import { ChatPlacement } from '../../router/src/core/cluster/chat-placement.ts';
import { mintWaMessageId } from '../../router/src/core/delivery/message-id.ts';
import { receiveMessage } from '../../router/src/core/messages/receive-message.ts';
import type { Clock } from '../../router/src/core/ports/clock.ts';
import { ChatWorkers } from '../../router/src/core/turns/chat-workers.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { parseDataKeys } from '../../router/src/infra/storage/encryption/data-keys.ts';
import { SecretCipher } from '../../router/src/infra/storage/encryption/secret-cipher.ts';
import { Postgres } from '../../router/src/infra/storage/postgres.ts';
import { PostgresInbox } from '../../router/src/infra/storage/stores/postgres-inbox.ts';
import { Watchdog } from '../../router/src/infra/watchdog/watchdog.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { answerDeps } from './answering.ts';
import { quietLog } from './quiet-log.ts';

const FASTER = 20;
const clock: Clock = {
  now: systemClock.now,
  monotonicMs: () => systemClock.monotonicMs() * FASTER,
  sleep: (ms, signal) => systemClock.sleep(ms / FASTER, signal),
};

const [databaseUrl = '', ...texts] = process.argv.slice(2);
const current = new Watchdog({ format: 'json', silentMs: 30_000 / FASTER });
const secrets = new SecretCipher(parseDataKeys('0'.repeat(64), 'the test key'));
const inbox = new PostgresInbox(new Postgres(databaseUrl, { poolSize: 3, secrets }));
const stopping = new AbortController();
const answer = {
  ...answerDeps({
    inbox,
    clock,
    stopping: stopping.signal,
    agent: async ({ text }) => {
      if (text === 'poison') hang();
      return { success: true, response: `re ${text}` };
    },
  }),
  current,
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
await workers.start();
const receive = receiveMessage.bind(undefined, { inbox, workers, log: quietLog });
await Promise.all(
  texts.map((text, index) => {
    const person = { phone: `5493777${process.pid}${index}` };
    const chat = { kind: 'person' as const, ...person };
    const sentAtMs = Date.now();
    const of = { accountId: 'default', chat, sender: person, waMessageId: `WA${person.phone}` };
    return receive({ ...of, kind: 'text', text, sentAtMs, stanzaOrder: BigInt(sentAtMs) });
  }),
);
// Nothing else keeps a process without a server alive.
setInterval(() => undefined, 60_000);

/** As a pattern does that backtracks: no timer, promise or signal handler runs again. */
function hang(): never {
  for (;;) if (/^(?:a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')) throw new Error('it cannot match');
}
