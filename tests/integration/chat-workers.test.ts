import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { receiveMessage } from '../../router/src/core/cluster/account-events.ts';
import { ChatPlacement } from '../../router/src/core/cluster/chat-placement.ts';
import { AgentElsewhereError } from '../../router/src/core/hosting/hosting-errors.ts';
import { ChatWorkers } from '../../router/src/core/turns/chat-workers.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { aMessage } from '../contracts/adapters.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { answerDeps } from '../support/answering.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const ana = { phone: '5493777000001' };
const ben = { phone: '5493777000002' };

let database: TestDatabase;
let inbox: PostgresInbox;
let hub: MemoryNodeHub;
let asked: Array<[node: string, text: string, isRepeat: boolean]>;

beforeEach(async () => {
  database = await createTestDatabase();
  inbox = new PostgresInbox(database.open());
  hub = new MemoryNodeHub();
  asked = [];
});

afterEach(() => database.drop());

/** The node that the agent of each text belongs to; absent: every node can answer. */
const owners = new Map<string, string>();

/** A node whose agent never answers texts that start with `slow`. */
function node(nodeId: string, slow = 'slow') {
  const stopping = new AbortController();
  const answer = answerDeps({
    inbox,
    clock: systemClock,
    stopping: stopping.signal,
    beforeRequest: async ({ text }) => {
      const owner = owners.get(text) ?? nodeId;
      if (owner !== nodeId) throw new AgentElsewhereError('agent-1', owner);
    },
    agent: ({ text }, isRepeat) => {
      asked.push([nodeId, text, isRepeat]);
      if (!text.startsWith(slow)) return Promise.resolve({ success: true, response: `re ${text}` });
      return new Promise((_, reject) => {
        stopping.signal.addEventListener('abort', () => reject(stopping.signal.reason));
      });
    },
  });
  const workers = new ChatWorkers({
    nodeId,
    placement: new ChatPlacement(nodeId, systemClock),
    bus: hub.connect(nodeId),
    clock: systemClock,
    stopping,
    answer,
    sweepEveryMs: 200,
  });
  return { workers, receive: receiveMessage.bind(undefined, { inbox, workers, log: quietLog }) };
}

const view = (...alive: string[]) => ({
  accounts: [],
  nodes: ['n1', 'n2'].map((nodeId) => ({
    ...{ host: '', url: '', version: '', startedAtMs: 0, seenAtMs: 0, turns: 0, isDraining: false },
    nodeId,
    isAlive: alive.includes(nodeId),
  })),
});

const open = async () => (await inbox.openChats([])).length;

describe('ChatWorkers on PostgreSQL', () => {
  it('answer a backlog of two chats, each in its order', async () => {
    const { workers, receive } = node('n1');
    await workers.start();
    const texts = Array.from({ length: 60 }, (_, index) => `m${index}`);
    await Promise.all(
      [ana, ben].map(async (person) => {
        for (const text of texts)
          await receive(aMessage('default', person, { text: `${person.phone} ${text}` }));
      }),
    );
    await expect.poll(open).toBe(0);
    for (const { phone } of [ana, ben]) {
      const own = asked.map(([, text]) => text).filter((text) => text.startsWith(phone));
      expect(own).toEqual(texts.map((text) => `${phone} ${text}`));
    }
    await workers.stop(1_000);
  });

  it('hand a chat to the node that its hosted agent belongs to', async () => {
    owners.set('for n2', 'n2');
    const nodes = [node('n1'), node('n2')];
    for (const { workers } of nodes) {
      workers.onClusterView(view('n1', 'n2'));
      await workers.start();
    }
    await nodes[0]?.receive(aMessage('default', ana, { text: 'for n2' }));
    await nodes[0]?.receive(aMessage('default', ana, { text: 'next' }));
    await expect.poll(open).toBe(0);
    expect(asked).toEqual([
      ['n2', 'for n2', false],
      ['n2', 'next', false],
    ]);
    for (const { workers } of nodes) await workers.stop(1_000);
  });

  it('answer after a restart the message that a stop interrupted, and the next one', async () => {
    const first = node('n1');
    await first.workers.start();
    await first.receive(aMessage('default', ana, { text: 'slow' }));
    await first.receive(aMessage('default', ana, { text: 'next' }));
    await expect.poll(() => asked.length).toBe(1);
    await first.workers.stop(0);
    expect(await open()).toBe(1);
    const second = node('n1', 'never');
    await second.workers.start();
    await expect.poll(open).toBe(0);
    expect(asked).toEqual([
      ['n1', 'slow', false],
      ['n1', 'slow', true],
      ['n1', 'next', false],
    ]);
    await second.workers.stop(1_000);
  });

  it('take over the chats of a node that died, once', async () => {
    const [dead, alive] = [node('n2'), node('n1', 'never')];
    for (const { workers } of [dead, alive]) {
      workers.onClusterView(view('n1', 'n2'));
      await workers.start();
    }
    await dead.receive(aMessage('default', ana, { text: 'slow' }));
    await expect.poll(() => asked.length).toBe(1);
    alive.workers.onClusterView(view('n1'));
    await expect.poll(open).toBe(0);
    expect(asked).toEqual([
      ['n2', 'slow', false],
      ['n1', 'slow', true],
    ]);
    for (const { workers } of [dead, alive]) await workers.stop(0);
  });
});
