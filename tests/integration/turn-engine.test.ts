import { DBOS } from '@dbos-inc/dbos-sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageUnavailableError } from '../../router/src/core/errors.ts';
import type { InboundMessage } from '../../router/src/core/ports/inbox.ts';
import { TurnEngine } from '../../router/src/infra/engine/turn-engine.ts';
import { PostgresInbox } from '../../router/src/infra/storage/stores/postgres-inbox.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { recordingLog } from '../support/quiet-log.ts';

let database: TestDatabase;
let inbox: PostgresInbox;
let order = 0n;

beforeEach(async () => {
  database = await createTestDatabase();
  inbox = new PostgresInbox(database.open());
});

afterEach(async () => {
  vi.restoreAllMocks();
  await database.drop();
});

function inbound(person: string, text: string): InboundMessage {
  order += 1n;
  return {
    accountId: 'default',
    waMessageId: `IN${order}`,
    chat: { kind: 'person', phone: person },
    sender: { phone: person },
    kind: 'text',
    text,
    sentAtMs: Date.now(),
    stanzaOrder: order,
  };
}

type Answered = { text: string; chatId: string };

/** An engine whose turns note the text they answered; `before` may hold a turn up or fail it. */
function engineWith(before: (text: string) => Promise<void> | void = () => undefined) {
  const answered: Answered[] = [];
  const waiting: Array<{ count: number; done(): void }> = [];
  const stopping = new AbortController();
  const engine = new TurnEngine({
    databaseUrl: database.url,
    nodeId: 'node-1',
    inbox,
    log: recordingLog(),
    lingerMs: 50,
    sweepEveryMs: 250,
    stopping: stopping.signal,
    answerNext: async ({ chatId, epoch, keepOpen }) => {
      const turn = await inbox.nextTurn(chatId, epoch, { keepOpen });
      if (!turn) return 'idle';
      await before(turn.message.text);
      await inbox.finishTurn(turn.messageId, { state: 'answered', replies: [] });
      answered.push({ text: turn.message.text, chatId });
      for (const waiter of waiting) if (answered.length >= waiter.count) waiter.done();
      return 'answered';
    },
  });
  return {
    engine,
    stopping,
    answered,
    texts: () => answered.map((entry) => entry.text),
    until: (count: number) =>
      answered.length >= count
        ? Promise.resolve()
        : new Promise<void>((done) => {
            waiting.push({ count, done });
          }),
    receive: async (message: InboundMessage) => {
      const stored = await inbox.add(message);
      if (stored.startLoop) engine.startLoop(stored.startLoop);
      else engine.wakeLoop(stored.chatId);
    },
  };
}

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('TurnEngine', () => {
  it('answers each chat in order, while a slow chat holds up no other', async () => {
    const slow = gate();
    const run = engineWith((text) => (text === 'a1' ? slow.opened : undefined));
    await run.engine.start();
    for (const [person, text] of [
      ['5491100000001', 'a1'],
      ['5491100000001', 'a2'],
      ['5491100000002', 'b1'],
      ['5491100000001', 'a3'],
      ['5491100000002', 'b2'],
    ] as const) {
      await run.receive(inbound(person, text));
    }
    await run.until(2);
    expect(run.texts()).toEqual(['b1', 'b2']);
    slow.open();
    await run.until(5);
    expect(run.texts().slice(2)).toEqual(['a1', 'a2', 'a3']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('finds a chat whose loop was never started, as after a crash between commit and start', async () => {
    await inbox.add(inbound('5491100000003', 'left behind'));
    const run = engineWith();
    await run.engine.start();
    await run.until(1);
    expect(run.texts()).toEqual(['left behind']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('answers a chat whose loop is noted as its own and does not run, as after a lost answer of the database', async () => {
    const person = '5491100000013';
    const prisma = database.prisma();
    const run = engineWith();
    await run.engine.start();
    await run.receive(inbound(person, 'one'));
    await run.until(1);
    await expect.poll(async () => (await prisma.chat.findFirst())?.loopRunning).toBe(false);
    const chat = await prisma.chat.findFirstOrThrow();
    const stranded = `chat:${chat.id}:${chat.loopEpoch + 1}`;
    await prisma.$executeRaw`
      INSERT INTO dbos.workflow_status (workflow_uuid, status, name, executor_id, application_version)
      VALUES (${stranded}, 'PENDING', 'turnLoop', 'node-1', 'turns-1')`;
    await inbox.add(inbound(person, 'two'));
    await run.until(2);
    expect(run.texts()).toEqual(['one', 'two']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('keeps a turn open at a stop and takes it up again after the next start', async () => {
    const asked = gate();
    const never = gate();
    const first = engineWith((text) => {
      asked.open();
      return text === 'slow' ? never.opened.then(() => Promise.reject(new Error('stopped'))) : undefined;
    });
    await first.engine.start();
    await first.receive(inbound('5491100000004', 'slow'));
    await first.receive(inbound('5491100000004', 'next'));
    await asked.opened;
    const stopped = first.engine.stop(0);
    first.stopping.abort(new Error('stopping'));
    never.open();
    await stopped;
    await first.engine.close();
    expect(first.texts()).toEqual([]);

    const second = engineWith();
    await second.engine.start();
    await second.until(2);
    expect(second.texts()).toEqual(['slow', 'next']);
    await second.engine.stop(1_000);
    await second.engine.close();
  });

  it('waits for a database that is away instead of giving the message up', async () => {
    let failures = 2;
    const run = engineWith(() => {
      if (failures-- > 0) throw new StorageUnavailableError('connection lost');
    });
    await run.engine.start();
    await run.receive(inbound('5491100000005', 'patience'));
    await run.until(1);
    expect(run.texts()).toEqual(['patience']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('answers a long backlog of one chat in its order', async () => {
    const start = gate();
    const run = engineWith(() => start.opened);
    await run.engine.start();
    const texts = Array.from({ length: 120 }, (_, index) => `m${index}`);
    for (const text of texts) await run.receive(inbound('5491100000006', text));
    start.open();
    await run.until(120);
    expect(run.texts()).toEqual(texts);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('finds a chat behind one whose loop failed and cannot be renewed', async () => {
    const run = engineWith((text) => {
      if (text === 'broken') throw new TypeError('a fault nobody expected');
    });
    await run.engine.start();
    const broken = await inbox.add(inbound('5491100000008', 'broken'));
    const renewLoop = inbox.renewLoop.bind(inbox);
    const renewed = gate();
    vi.spyOn(inbox, 'renewLoop').mockImplementation(async (chatId, epoch) => {
      if (chatId !== broken.chatId) return renewLoop(chatId, epoch);
      renewed.open();
      throw new StorageUnavailableError('one damaged row');
    });
    await renewed.opened;
    await inbox.add(inbound('5491100000009', 'behind it'));
    await run.until(1);
    expect(run.texts()).toEqual(['behind it']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });

  it('asks once for the loops of many chats that run elsewhere', async () => {
    const run = engineWith();
    await run.engine.start();
    await run.engine.stop(0);
    for (let chat = 0; chat < 30; chat++) {
      const { startLoop } = await inbox.add(inbound(`54911000001${chat}`, 'elsewhere'));
      await database.prisma().$executeRaw`
        INSERT INTO dbos.workflow_status (workflow_uuid, status, name, executor_id, application_version, created_at, updated_at)
        VALUES (${`chat:${startLoop?.chatId}:${startLoop?.epoch}`}, 'PENDING', 'turnLoop', 'node-2', 'turns-1', 0, 0)`;
    }
    await run.engine.close();
    const next = engineWith();
    const [one, many] = [vi.spyOn(DBOS, 'getWorkflowStatus'), vi.spyOn(DBOS, 'listWorkflows')];
    await next.engine.start();
    await next.engine.stop(0);
    expect(one.mock.calls.length + many.mock.calls.length).toBeLessThan(5);
    await next.engine.close();
  });

  it('starts a new loop for a chat whose loop failed', async () => {
    let failed = false;
    const run = engineWith(() => {
      if (failed) return;
      failed = true;
      throw new TypeError('a fault nobody expected');
    });
    await run.engine.start();
    await run.receive(inbound('5491100000007', 'again'));
    await run.until(1);
    expect(failed).toBe(true);
    expect(run.texts()).toEqual(['again']);
    await run.engine.stop(1_000);
    await run.engine.close();
  });
});
