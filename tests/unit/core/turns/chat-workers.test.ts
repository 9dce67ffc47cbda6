import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../../../router/src/core/agent-client.ts';
import { receiveMessage } from '../../../../router/src/core/cluster/account-events.ts';
import { ChatPlacement } from '../../../../router/src/core/cluster/chat-placement.ts';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import type { NodeView } from '../../../../router/src/core/ports/cluster.ts';
import { ChatWorkers } from '../../../../router/src/core/turns/chat-workers.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { answerDeps } from '../../../support/answering.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ana = { phone: '5493777000001' };
const ben = { phone: '5493777000002' };

/** Nodes with shared memory stores. `asked` has node, text and isRepeat of each request; a text in `slow` waits for its release. */
function setup() {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  const hub = new MemoryNodeHub();
  const asked: Array<[node: string, text: string, isRepeat: boolean]> = [];
  const slow = new Map<string, Promise<unknown>>();
  const dead = new Set<string>();
  const names: string[] = [];
  const all: ChatWorkers[] = [];

  function node(nodeId: string) {
    const stopping = new AbortController();
    const own = Object.assign(Object.create(inbox) as MemoryInbox, {
      add: inbox.add.bind(inbox),
      countAttempt: inbox.countAttempt.bind(inbox),
      nextTurn: inbox.nextTurn.bind(inbox),
      openChats: inbox.openChats.bind(inbox),
      claimChats: inbox.claimChats.bind(inbox),
      finishTurn: async (...args: Parameters<MemoryInbox['finishTurn']>) => {
        if (dead.has(nodeId)) return new Promise<never>(() => undefined);
        return inbox.finishTurn(...args);
      },
    });
    const answer = answerDeps({
      inbox: own,
      clock,
      stopping: stopping.signal,
      agent: async ({ text }, isRepeat) => {
        asked.push([nodeId, text, isRepeat]);
        const waits = slow.get(text);
        if (waits) {
          const aborted = new Promise((_, reject) => {
            stopping.signal.addEventListener('abort', () => reject(stopping.signal.reason));
          });
          await Promise.race([waits, aborted]);
        }
        return { success: true, response: `re ${text}` };
      },
    });
    const workers = new ChatWorkers({
      nodeId,
      placement: new ChatPlacement(nodeId, clock),
      bus: hub.connect(nodeId),
      clock,
      stopping,
      answer,
    });
    names.push(nodeId);
    all.push(workers);
    const log = recordingLog();
    return { workers, answer, receive: receiveMessage.bind(undefined, { inbox, workers, log }) };
  }

  const see = (turns: Record<string, number> = {}) => {
    const nodes = names.map(
      (nodeId): NodeView => ({
        ...{
          host: '',
          url: '',
          version: '',
          startedAtMs: 0,
          seenAtMs: clock.monotonicMs(),
          isDraining: false,
        },
        nodeId,
        turns: turns[nodeId] ?? 0,
        isAlive: !dead.has(nodeId),
      }),
    );
    for (const [index, workers] of all.entries()) {
      if (!dead.has(names[index] ?? '')) workers.onClusterView({ nodes, accounts: [] });
    }
  };
  const texts = () => [...state.outbox.values()].map(({ text }) => text);
  return { clock, state, inbox, hub, asked, slow, dead, node, see, texts };
}

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('ChatWorkers', () => {
  it('answers each chat in order, while a slow chat delays no other', async () => {
    const { node, slow, texts } = setup();
    const { workers, receive } = node('n1');
    await workers.start();
    const first = gate();
    slow.set('a1', first.opened);
    for (const [person, text] of [
      [ana, 'a1'],
      [ana, 'a2'],
      [ben, 'b1'],
      [ana, 'a3'],
      [ben, 'b2'],
    ] as const)
      await receive(aMessage('default', person, { text }));
    await settle();
    expect(texts()).toEqual(['re b1', 're b2']);
    expect(workers.turns).toBe(1);
    first.open();
    await settle();
    expect(texts().slice(2)).toEqual(['re a1', 're a2', 're a3']);
    expect(workers.turns).toBe(0);
  });

  it('keeps a chat claimed while it has messages, and claims it again for the next one', async () => {
    const { node, slow, state } = setup();
    const { workers, receive } = node('n1');
    await workers.start();
    const agent = gate();
    slow.set('slow', agent.opened);
    await receive(aMessage('default', ana, { text: 'slow' }));
    await settle();
    await receive(aMessage('default', ana));
    const [chat] = state.chats.values();
    expect(chat).toMatchObject({ workerNode: 'n1', workerEpoch: 1 });
    agent.open();
    await settle();
    expect(chat?.workerNode).toBeUndefined();
    await receive(aMessage('default', ana));
    expect(chat).toMatchObject({ workerNode: 'n1', workerEpoch: 2 });
  });

  it('answers a message that is stored before the worker of the last one knows that it released the chat', async () => {
    const { node, inbox, state, asked, texts } = setup();
    const { workers, answer, receive } = node('n1');
    await workers.start();
    const answered = gate();
    answer.inbox.finishTurn = async (...args) => {
      answer.inbox.finishTurn = inbox.finishTurn.bind(inbox);
      const finished = await inbox.finishTurn(...args);
      await answered.opened;
      return finished;
    };
    await receive(aMessage('default', ana, { text: 'one' }));
    await settle();
    await receive(aMessage('default', ana, { text: 'two' }));
    await settle();
    answered.open();
    await settle();
    expect(asked).toEqual([
      ['n1', 'one', false],
      ['n1', 'two', false],
    ]);
    expect(texts()).toEqual(['re one', 're two']);
    expect([...state.chats.values()]).toMatchObject([{ workerNode: undefined, workerEpoch: 2 }]);
  });

  it('answers at its start the open messages of the former process of the node, marked as possible repeats', async () => {
    const { node, inbox, asked } = setup();
    await inbox.add(aMessage('default', ana, { text: 'left' }), 'n1');
    const { workers } = node('n1');
    await workers.start();
    await settle();
    expect(asked).toEqual([['n1', 'left', true]]);
  });

  it('serves a chat that an earlier process left idle with the next message', async () => {
    const { node, inbox, asked } = setup();
    const { messageId } = await inbox.add(aMessage('default', ana), 'n1');
    await inbox.finishTurn(messageId, { state: 'answered', replies: [] });
    const { workers, receive } = node('n1');
    await workers.start();
    await receive(aMessage('default', ana, { text: 'next' }));
    await settle();
    expect(asked).toEqual([['n1', 'next', true]]);
  });

  it('serves its own claim without a worker by the second sweep', async () => {
    const { node, inbox, clock, asked } = setup();
    const { workers } = node('n1');
    await workers.start();
    await inbox.add(aMessage('default', ana, { text: 'unserved' }), 'n1');
    await clock.advanceMs(5_000);
    expect(asked).toEqual([]);
    await clock.advanceMs(5_000);
    expect(asked).toEqual([['n1', 'unserved', true]]);
  });

  it('starts a failed worker again with the sweep', async () => {
    const { node, clock, inbox, asked, texts } = setup();
    const { workers, answer, receive } = node('n1');
    await workers.start();
    let failures = 1;
    answer.inbox.nextTurn = async (...args) => {
      if (failures-- > 0) throw new TypeError('a fault nobody expected');
      return inbox.nextTurn(...args);
    };
    answer.inbox.deadLetterUnreadable = async () => undefined;
    await receive(aMessage('default', ana, { text: 'again' }));
    await settle();
    await clock.advanceMs(10_000);
    expect(asked).toHaveLength(1);
    expect(texts()).toEqual(['re again']);
  });

  it('keeps sweeping while the database does not answer', async () => {
    const { node, clock, inbox, texts } = setup();
    const { workers, answer } = node('n1');
    let failures = 3;
    answer.inbox.openChats = async (except) => {
      if (failures-- > 0) throw new StorageUnavailableError({ sentence: 'away' });
      return inbox.openChats(except);
    };
    await inbox.add(aMessage('default', ana, { text: 'patience' }), 'n1');
    await workers.start();
    await clock.advanceMs(30_000);
    expect(texts()).toEqual(['re patience']);
  });

  describe('among several nodes', () => {
    it('places chats on the node with clearly fewer turns, which answers them', async () => {
      const { node, see, slow, asked } = setup();
      const [n1, n2] = [node('n1'), node('n2')];
      for (const { workers } of [n1, n2]) await workers.start();
      see();
      slow.set('slow', gate().opened);
      for (let chat = 0; chat < 8; chat++) {
        await n1.receive(aMessage('default', { phone: `549377700010${chat}` }, { text: 'slow' }));
      }
      await settle();
      // Four more run here before one is placed on the other node; then both get the next ones alternately.
      expect(asked.map(([name]) => name)).toEqual(['n1', 'n1', 'n1', 'n1', 'n2', 'n1', 'n2', 'n1']);
    });

    it('takes over the chats of a dead node once, after a while, as repeats', async () => {
      const { node, see, slow, dead, clock, asked, texts } = setup();
      const [n1, n2] = [node('n1'), node('n2')];
      for (const { workers } of [n1, n2]) await workers.start();
      see();
      const agent = gate();
      slow.set('cut off', agent.opened);
      await n2.receive(aMessage('default', ana, { text: 'cut off' }));
      await settle();
      dead.add('n2');
      slow.delete('cut off');
      see();
      await settle();
      await clock.advanceMs(1_400);
      expect(asked).toEqual([['n2', 'cut off', false]]);
      await clock.advanceMs(800);
      expect(asked).toEqual([
        ['n2', 'cut off', false],
        ['n1', 'cut off', true],
      ]);
      // The agent's answer to the dead node arrives after the turn ended.
      dead.delete('n2');
      agent.open();
      await settle();
      expect(texts()).toEqual(['re cut off']);
    });

    it('leaves the chats of a node that reconnects in time', async () => {
      const { node, see, slow, dead, clock, asked } = setup();
      const [n1, n2] = [node('n1'), node('n2')];
      for (const { workers } of [n1, n2]) await workers.start();
      see();
      slow.set('slow', gate().opened);
      await n2.receive(aMessage('default', ana, { text: 'slow' }));
      dead.add('n2');
      see();
      await settle();
      await clock.advanceMs(1_200);
      dead.delete('n2');
      see();
      await clock.advanceMs(20_000);
      expect(asked).toEqual([['n2', 'slow', false]]);
    });

    it('hands its chats to another node when it stops, also one whose agent was interrupted', async () => {
      const { node, see, slow, clock, asked, texts } = setup();
      const [n1, n2] = [node('n1'), node('n2')];
      for (const { workers } of [n1, n2]) await workers.start();
      see();
      slow.set('slow', gate().opened);
      await n1.receive(aMessage('default', ana, { text: 'slow' }));
      await n1.receive(aMessage('default', ana, { text: 'behind it' }));
      await settle();
      const stopped = n1.workers.stop(1_000);
      await settle();
      slow.delete('slow');
      await clock.advanceMs(1_000);
      await stopped;
      await settle();
      expect(asked).toEqual([
        ['n1', 'slow', false],
        ['n2', 'slow', true],
        ['n2', 'behind it', false],
      ]);
      expect(texts()).toEqual(['re slow', 're behind it']);
    });
  });

  it('waits for a running turn in the grace time when it stops, and releases idle chats', async () => {
    const { node, slow, clock, state, texts } = setup();
    const { workers, receive } = node('n1');
    await workers.start();
    const agent = gate();
    slow.set('slow', agent.opened);
    await receive(aMessage('default', ana, { text: 'slow' }));
    await receive(aMessage('default', ben, { text: 'quick' }));
    await settle();
    const stopped = workers.stop(5_000);
    agent.open();
    await stopped;
    expect(texts()).toEqual(['re quick', 're slow']);
    expect([...state.chats.values()].map(({ workerNode }) => workerNode)).toEqual([undefined, undefined]);
    expect(clock.sleeping).toBe(0);
  });

  it('stops in time while the database does not answer', async () => {
    const { node, clock } = setup();
    const { workers, answer, receive } = node('n1');
    await workers.start();
    answer.inbox.nextTurn = () => new Promise<never>(() => undefined);
    await receive(aMessage('default', ana));
    const stopped = workers.stop(1_000);
    await settle();
    await clock.advanceMs(1_000);
    await clock.advanceMs(5_000);
    await stopped;
  });

  it('keeps an interrupted turn for its next start when there is no other node', async () => {
    const { node, slow, clock, asked, texts } = setup();
    const first = node('n1');
    await first.workers.start();
    slow.set('slow', gate().opened);
    await first.receive(aMessage('default', ana, { text: 'slow' }));
    await settle();
    const stopped = first.workers.stop(1_000);
    await clock.advanceMs(1_000);
    await stopped;
    expect(texts()).toEqual([]);
    slow.delete('slow');
    const second = node('n1');
    await second.workers.start();
    await settle();
    expect(asked.at(-1)).toEqual(['n1', 'slow', true]);
    expect(texts()).toEqual(['re slow']);
  });
});

describe('ChatWorkers after processes that ended', () => {
  /** Processes of one node, one after the other, whose agent answers every text but those in `deadly`: then nothing happens. */
  function setUpProcesses() {
    const clock = new FakeClock();
    const state = new MemoryState(() => clock.now());
    const inbox = new MemoryInbox(state);
    const asked: string[] = [];
    const deadly = new Set<string>();
    let isDatabaseDown = false;
    let last: { isDead?: true } = {};

    function begin() {
      last.isDead = true;
      const own: typeof last = {};
      last = own;
      const ownInbox = new Proxy(inbox, {
        get:
          (target, name: keyof MemoryInbox) =>
          async (...args: never[]) => {
            if (own.isDead) return new Promise(() => undefined);
            if (isDatabaseDown) throw new StorageUnavailableError({ sentence: 'The database is down.' });
            return (target[name] as (...given: never[]) => unknown).apply(target, args);
          },
      });
      const stopping = new AbortController();
      const answer = answerDeps({
        inbox: ownInbox,
        clock,
        stopping: stopping.signal,
      });
      const sendMessage: AgentClient['sendMessage'] = async (_endpoint, { text }, options) => {
        await options?.beforeRequest?.();
        asked.push(text);
        if (!deadly.has(text)) return { success: true, response: `re ${text}` };
        return new Promise((_, reject) => {
          options?.signal?.addEventListener('abort', () => reject(options.signal?.reason));
        });
      };
      answer.agents = { endpointOf: () => 'http://agent', clientFor: () => ({ sendMessage }) };
      const placement = new ChatPlacement('n1', clock);
      const bus = new MemoryNodeHub().connect('n1');
      const workers = new ChatWorkers({ nodeId: 'n1', placement, bus, clock, stopping, answer });
      const log = recordingLog();
      const receive = receiveMessage.bind(undefined, { inbox: ownInbox, workers, log });
      const say = (person: object, text: string) => receive(aMessage('default', person, { text }));
      return { workers, say };
    }

    async function restart() {
      const process = begin();
      await process.workers.start();
      await clock.advanceMs(1);
      return process;
    }
    async function stop({ workers }: { workers: ChatWorkers }) {
      const stopped = workers.stop(0);
      await clock.advanceMs(1);
      await stopped;
      await workers.release();
    }
    const setDatabaseDown = (isDown: boolean) => {
      isDatabaseDown = isDown;
    };
    const rows = () =>
      [...state.messages.values()].map(({ text, state: is, reason }) => [text, reason ?? is]);
    const suspicions = () =>
      [...state.messages.values()].map(({ suspicion = 0, runsAlone }) =>
        runsAlone ? [suspicion, 'alone'] : suspicion,
      );
    return { clock, state, asked, deadly, restart, stop, rows, suspicions, setDatabaseDown };
  }

  it('give a message that ended three of them up, and answer everybody else', async () => {
    const { clock, state, asked, deadly, restart, rows } = setUpProcesses();
    deadly.add('poison').add('slow');
    const { say } = await restart();
    await say(ana, 'poison');
    await say(ben, 'slow');
    await say(ana, 'next');
    await settle();
    deadly.delete('slow');
    const second = await restart();
    await second.say({ phone: '5493777000003' }, 'new');
    await settle();
    expect(rows()).toEqual([
      ['poison', 'received'],
      ['slow', 'answered'],
      ['next', 'received'],
      ['new', 'answered'],
    ]);
    const third = await restart();
    await third.say({ phone: '5493777000004' }, 'newer');
    await clock.advanceMs(14_990);
    expect(asked.filter((text) => text === 'poison')).toHaveLength(2);
    await clock.advanceMs(10);
    expect(asked.filter((text) => text === 'poison')).toHaveLength(3);
    await restart();
    expect(rows()).toEqual([
      ['poison', 'PROCESS_ENDED'],
      ['slow', 'answered'],
      ['next', 'answered'],
      ['new', 'answered'],
      ['newer', 'answered'],
    ]);
    expect(asked.filter((text) => text === 'poison')).toHaveLength(3);
    expect(state.deadLetters).toMatchObject([
      { reason: 'PROCESS_ENDED', trace: [{ step: 'process', outcome: 'ended' }] },
    ]);
  });

  it('run turns that were open in two of them one at a time', async () => {
    const { clock, asked, deadly, restart, rows } = setUpProcesses();
    deadly.add('a').add('b').add('c');
    const { say } = await restart();
    for (const text of deadly) await say({ phone: `549377700001${text.charCodeAt(0)}` }, text);
    await settle();
    await restart();
    deadly.delete('b');
    await restart();
    await clock.advanceMs(15_000);
    expect(asked).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a']);
    // Another process: only the one that ran alone is given up.
    deadly.clear();
    await restart();
    await clock.advanceMs(15_000);
    expect(rows()).toEqual([
      ['a', 'PROCESS_ENDED'],
      ['b', 'answered'],
      ['c', 'answered'],
    ]);
  });

  it('begin a turn that runs alone again, after the others, when its agent works for a minute', async () => {
    const { clock, asked, deadly, restart, rows, suspicions } = setUpProcesses();
    deadly.add('a').add('b');
    const { say } = await restart();
    await say(ana, 'a');
    await say(ben, 'b');
    await settle();
    await restart();
    await restart();
    deadly.delete('b');
    await clock.advanceMs(74_000);
    expect(asked.slice(4)).toEqual(['a']);
    await clock.advanceMs(1_000);
    expect(asked.slice(4)).toEqual(['a', 'b', 'a']);
    await clock.advanceMs(600_000);
    expect(asked.slice(4)).toEqual(['a', 'b', 'a']);
    expect(rows()).toEqual([
      ['a', 'received'],
      ['b', 'answered'],
    ]);
    expect(suspicions()[0]).toEqual([2, 'alone']);
  });

  it('count nothing for a stop, however often', async () => {
    const { deadly, restart, stop, suspicions } = setUpProcesses();
    deadly.add('slow');
    const first = await restart();
    await first.say(ana, 'slow');
    await stop(first);
    for (let stops = 0; stops < 4; stops += 1) await stop(await restart());
    expect(suspicions()).toEqual([0]);
  });

  it('take back the beginning of a turn that runs alone when they stop', async () => {
    const { clock, deadly, restart, stop, rows, suspicions } = setUpProcesses();
    deadly.add('slow');
    const { say } = await restart();
    await say(ana, 'slow');
    await restart();
    for (let stops = 0; stops < 3; stops += 1) {
      const alone = await restart();
      await clock.advanceMs(15_000);
      expect(suspicions()).toEqual([[2, 'alone']]);
      await stop(alone);
      expect(suspicions()).toEqual([2]);
    }
    deadly.clear();
    await restart();
    await clock.advanceMs(15_000);
    expect(rows()).toEqual([['slow', 'answered']]);
  });

  it('answer a turn that runs alone while the database is down', async () => {
    const { clock, deadly, restart, rows, setDatabaseDown } = setUpProcesses();
    deadly.add('slow');
    const { say } = await restart();
    await say(ana, 'slow');
    await restart();
    await restart();
    deadly.clear();
    await clock.advanceMs(14_000);
    setDatabaseDown(true);
    await clock.advanceMs(60_000);
    expect(rows()).toEqual([['slow', 'received']]);
    setDatabaseDown(false);
    await clock.advanceMs(60_000);
    expect(rows()).toEqual([['slow', 'answered']]);
  });
});
