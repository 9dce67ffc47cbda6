import { beforeEach, describe, expect, it } from 'vitest';
import { chatHash } from '../../../../router/src/core/chat-id.ts';
import type { NodeMessage } from '../../../../router/src/core/cluster/node-bus.ts';
import type { SendSlot } from '../../../../router/src/core/delivery/deliver-reply.ts';
import {
  AgentUnavailableError,
  StorageUnavailableError,
  Wa2aiError,
} from '../../../../router/src/core/errors.ts';
import type { Route } from '../../../../router/src/core/models.ts';
import { groupPolicy } from '../../../../router/src/core/policies/access.ts';
import { autoReplyLoopPolicy } from '../../../../router/src/core/policies/auto-reply-loop.ts';
import type { ChatPolicy } from '../../../../router/src/core/policies/policy.ts';
import type { ChatClaim } from '../../../../router/src/core/ports/inbox.ts';
import { type AnswerDeps, answerMessage } from '../../../../router/src/core/turns/answer-message.ts';
import { CircuitBreakers } from '../../../../router/src/core/turns/ask-agent.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { MemoryChatHistory } from '../../../doubles/memory-chat-history.ts';
import { MemoryChatStore } from '../../../doubles/memory-chat-store.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';
import { aRoute, NO_CONDITIONS } from '../../../support/routes.ts';
import { shaping } from '../../../support/shaping.ts';

class UnreadableError extends Wa2aiError {
  constructor() {
    super('STORAGE_DAMAGED', 'dead', { sentence: 'It cannot be read.' });
  }
}

let state: MemoryState;
let inbox: MemoryInbox;
let claim: ChatClaim;
let routes: Route[];
let faults: Partial<Record<'candidates' | 'history' | 'agents' | 'finish' | 'next', Error>>;
let stopping: AbortController;
let delivered: QueuedReply[];
let slot: SendSlot | undefined;
let closed: number;
const close = () => {
  closed += 1;
};
let published: NodeMessage[];
let log: ReturnType<typeof recordingLog>;
let clock: FakeClock;

beforeEach(async () => {
  state = new MemoryState(() => 0);
  inbox = new MemoryInbox(state);
  routes = [aRoute({ accountId: 'default', channelId: '*' })];
  faults = {};
  stopping = new AbortController();
  delivered = [];
  slot = undefined;
  closed = 0;
  published = [];
  log = recordingLog();
  clock = new FakeClock();
  for (const id of ['1', '2']) {
    const { worker } = await inbox.add(
      {
        accountId: 'default',
        waMessageId: id,
        chat: { kind: 'person', phone: '5493777000001' },
        sender: { phone: '5493777000001' },
        kind: 'text',
        text: `text ${id}`,
        sentAtMs: 0,
        stanzaOrder: BigInt(id),
      },
      'n1',
    );
    if (worker) claim = worker;
  }
});

/** Fails at the first call only. */
function fail(where: keyof typeof faults): void {
  const error = faults[where];
  delete faults[where];
  if (error) throw error;
}

function deps(): AnswerDeps {
  return {
    languages: NO_CONDITIONS.languages,
    chatStore: new MemoryChatStore(new MemoryState()),
    accountStore: { load: async () => ({ state: 'open', generation: 1 }) },
    inbox: Object.assign(Object.create(inbox) as MemoryInbox, {
      nextTurn: async (...args: Parameters<MemoryInbox['nextTurn']>) => {
        fail('next');
        return inbox.nextTurn(...args);
      },
      countAttempt: (...args: Parameters<MemoryInbox['countAttempt']>) => inbox.countAttempt(...args),
      finishTurn: async (...args: Parameters<MemoryInbox['finishTurn']>) => {
        fail('finish');
        return inbox.finishTurn(...args);
      },
      deadLetterUnreadable: (...args: Parameters<MemoryInbox['deadLetterUnreadable']>) =>
        inbox.deadLetterUnreadable(...args),
    }),
    routes: {
      get: async () => undefined,
      candidates: async () => {
        fail('candidates');
        return routes;
      },
      create: () => Promise.reject(new Error('not part of this test')),
      list: async () => routes,
      update: async () => undefined,
      delete: async () => false,
      write: () => Promise.reject(new Error('not part of this test')),
      restore: () => Promise.reject(new Error('not part of this test')),
    },
    matcher: { test: async () => 'match' },
    environment: 'lab',
    agents: {
      clientFor: () => {
        fail('agents');
        return {
          sendMessage: async (_endpoint, { text }, options) => {
            await options?.beforeRequest?.();
            return { success: true, response: `re ${text}` };
          },
        };
      },
      endpointOf: ({ agentEndpoint }) => agentEndpoint,
    },
    policy: { tryForMs: 0, backoffMs: () => 0 },
    circuits: new CircuitBreakers(),
    ...shaping(),
    policies: [
      autoReplyLoopPolicy({
        history: {
          answeredTurns: async () => {
            fail('history');
            return [];
          },
        },
        autoReplyLoop: { turns: 5, replyMs: 1_000 },
      }),
    ],
    mintId: () => 'WA',
    media: {
      load: () => Promise.reject(new Error('not part of this test')),
      urlOf: async () => undefined,
    },
    history: { pastTurns: async () => [], unanswered: async () => [] },
    replyTokens: { issue: async () => 'token' },
    accounts: {
      delivery: () => ({
        deliver: (rows) => void delivered.push(...rows),
        openSlot: () => slot,
        deliverNow: async () => false,
        sendUnstored: async () => undefined,
      }),
    },
    bus: { publish: (message) => void published.push(message) },
    clock,
    log,
    stopping: stopping.signal,
  };
}

const next = () => answerMessage(deps(), claim);
const ends = () => [...state.messages.values()].map(({ state: end, reason }) => [end, reason]);
const replies = () => [...state.outbox.values()].map(({ text }) => text);

describe('answerMessage', () => {
  it('answers the oldest message, stores the reply and starts its delivery', async () => {
    expect(await next()).toBe('claimed');
    expect(ends()).toEqual([
      ['answered', undefined],
      ['received', undefined],
    ]);
    expect(delivered).toMatchObject([{ messageId: '2', message: { text: 're text 1', waMessageId: 'WA' } }]);
  });

  it('reads the conversation and issues a reply token only when the agent asks, the same one for all attempts', async () => {
    const asked: string[] = [];
    const offering = {
      ...deps(),
      policy: { tryForMs: 60_000, backoffMs: () => 0 },
      history: {
        pastTurns: async (...given: [string, string, number]) => {
          asked.push(`history ${given[1]} ${given[2]}`);
          return [];
        },
        unanswered: async () => [],
      },
      replyTokens: {
        issue: async (messageId: string) => {
          asked.push(`token ${messageId}`);
          return `token-${asked.length}`;
        },
      },
    };
    await answerMessage(offering, claim);
    expect(asked).toEqual([]);
    const tokens: unknown[] = [];
    offering.agents.clientFor = () => ({
      sendMessage: async (_endpoint, _message, options) => {
        tokens.push(await options?.replyToken?.());
        await options?.loadHistory?.({ turns: 5, maxChars: 100 });
        await options?.beforeRequest?.();
        if (tokens.length < 2) throw new AgentUnavailableError({ sentence: 'busy' });
        return { success: true, isLater: true };
      },
    });
    const turn = answerMessage(offering, claim);
    await clock.untilSleeping();
    await clock.advanceMs(1);
    await turn;
    expect(tokens).toEqual(['token-1', 'token-1']);
    expect(asked).toEqual(['token 3', 'history 3 5', 'history 3 5']);
    expect(ends()[1]).toEqual(['answered', 'agent-later']);
  });

  it('issues another reply token when one could not be stored', async () => {
    const failures: Error[] = [new StorageUnavailableError({ sentence: 'gone' })];
    const offering = {
      ...deps(),
      replyTokens: {
        issue: async () => {
          const failure = failures.pop();
          if (failure) throw failure;
          return 'token';
        },
      },
    };
    offering.agents.clientFor = () => ({
      sendMessage: async (_endpoint, _message, options) => {
        const token = await options?.replyToken?.().catch(() => options.replyToken?.());
        return { success: true, response: `with ${token}` };
      },
    });
    await answerMessage(offering, claim);
    expect(replies()).toEqual(['with token']);
  });

  it('stores the reply as sending when its account can send at once', async () => {
    slot = { lease: { accountId: 'default', owner: 'n1', epoch: 1n }, close };
    await next();
    expect([...state.outbox.values()]).toMatchObject([{ state: 'sending', attempts: 1 }]);
    expect(delivered).toMatchObject([{ isSending: true }]);
  });

  it('stores the end again, without asking the agent again, when its reply may be stored as sending', async () => {
    slot = { lease: { accountId: 'default', owner: 'n1', epoch: 1n }, close };
    const lost = deps();
    let asked = 0;
    const finishTurn = lost.inbox.finishTurn.bind(lost.inbox);
    const failures = [
      new StorageUnavailableError({ sentence: 'answer lost' }),
      new StorageUnavailableError({ sentence: 'closed' }),
    ];
    lost.inbox.finishTurn = async (...args) => {
      const replies = await finishTurn(...args);
      const failure = failures.shift();
      if (failure) throw failure;
      return replies;
    };
    lost.agents.clientFor = () => ({
      sendMessage: async () => {
        asked += 1;
        return { success: true, response: 'once' };
      },
    });
    const turn = answerMessage(lost, claim);
    await settle();
    await clock.advanceMs(500);
    await clock.advanceMs(1_000);
    expect(await turn).toBe('claimed');
    expect(asked).toBe(1);
    expect(delivered).toMatchObject([{ message: { text: 'once' } }]);
    expect([...state.outbox.values()]).toHaveLength(1);
  });

  it.each([
    ['nothing is stored', () => Promise.reject(new UnreadableError())],
    ['an earlier end without a reply is stored', async () => ({ replies: [], isClaimed: false })],
  ])('closes the slot when %s', async (_, finishTurn) => {
    slot = { lease: { accountId: 'default', owner: 'n1', epoch: 1n }, close };
    const without = deps();
    const stored = without.inbox.finishTurn;
    without.inbox.finishTurn = (id, result, under) => (under?.lease ? finishTurn() : stored(id, result));
    await answerMessage(without, claim);
    expect(closed).toBe(1);
    expect(delivered).toEqual([]);
  });

  it('leaves the slot open when the service stops and the reply may be stored as sending', async () => {
    slot = { lease: { accountId: 'default', owner: 'n1', epoch: 1n }, close };
    const lost = deps();
    lost.inbox.finishTurn = () => Promise.reject(new StorageUnavailableError({ sentence: 'answer lost' }));
    const turn = answerMessage(lost, claim);
    await settle();
    stopping.abort(new Error('wa2ai is stopping'));
    await expect(turn).rejects.toThrow('wa2ai is stopping');
    expect(closed).toBe(0);
  });

  it('releases the chat with the end of its last turn', async () => {
    expect(await next()).toBe('claimed');
    expect(state.chats.get(Number(claim.chatId))?.workerNode).toBe('n1');
    expect(await next()).toBe('released');
    expect(state.chats.get(Number(claim.chatId))?.workerNode).toBeUndefined();
    expect(await next()).toBe('released');
  });

  it('does nothing under a claim that is void', async () => {
    expect(await answerMessage(deps(), { ...claim, epoch: 99 })).toBe('released');
    expect(replies()).toEqual([]);
  });

  it('informs the owner of the account about replies when it is another node', async () => {
    await answerMessage({ ...deps(), accounts: { delivery: () => undefined } }, claim);
    expect(published).toEqual([{ kind: 'replies-queued', accountId: 'default' }]);
  });

  it('ends a turn that a policy stops with its reason, and calls no agent', async () => {
    const stop = {
      kind: 'end' as const,
      reason: 'chat-paused' as const,
      step: { step: 'pause', outcome: 'stopped', sentence: 'A person answers.' },
      say: 'A person answers soon.',
    };
    const seen = { kind: 'continue' as const, step: { step: 'seen', outcome: 'passed', sentence: 'Seen.' } };
    faults.agents = new TypeError('the agent was asked');
    await answerMessage(
      {
        ...deps(),
        policies: [
          { name: 'a', before: async () => seen },
          { name: 'b', before: async () => stop },
        ],
      },
      claim,
    );
    expect(ends()[0]).toEqual(['answered', 'chat-paused']);
    expect([...state.messages.values()][0]?.trace).toEqual([expect.anything(), seen.step, stop.step]);
    expect(replies()).toEqual(['A person answers soon.']);
  });

  it('gives the agent the messages of a group that were not for it, and quotes the message it answers', async () => {
    const asked: unknown[] = [];
    const member = {
      accountId: 'default',
      channelId: '*',
      config: { group: { answer: 'mention' as const } },
    };
    routes = [aRoute(member)];
    for (const [index, toUs] of ([undefined, 'mention'] as const).entries()) {
      const { worker } = await inbox.add(
        {
          accountId: 'default',
          waMessageId: `G${index}`,
          chat: { kind: 'group', groupId: '120363000000000001' },
          sender: { phone: '5493777000009', pushName: 'Ana' },
          kind: 'text',
          text: `group ${index}`,
          toUs,
          sentAtMs: 0,
          stanzaOrder: BigInt(10 + index),
        },
        'n1',
      );
      if (worker) claim = worker;
    }
    const listening = {
      ...deps(),
      policies: [groupPolicy({ matcher: { test: async () => 'no-match' as const } })],
      history: new MemoryChatHistory(state),
    };
    listening.agents.clientFor = () => ({
      sendMessage: async (_endpoint, { text, context }) => {
        asked.push({ text, context });
        return { success: true, response: 'hello' };
      },
    });
    await answerMessage(listening, claim);
    await answerMessage(listening, claim);
    expect(asked).toEqual([{ text: 'group 1', context: [{ by: 'person', name: 'Ana', text: 'group 0' }] }]);
    expect(ends().slice(2)).toEqual([
      ['ignored', 'group-not-addressed'],
      ['answered', undefined],
    ]);
    expect([...state.outbox.values()][0]?.quote).toEqual({
      waMessageId: 'G1',
      from: '5493777000009@s.whatsapp.net',
      text: 'group 1',
    });
  });

  it('runs the agent inside the policies, the first one outermost', async () => {
    const order: string[] = [];
    const policy = (name: string): ChatPolicy => ({
      name,
      during: async (_turn, work) => {
        order.push(`${name} starts`);
        const result = await work();
        order.push(`${name} ends`);
        return result;
      },
    });
    await answerMessage({ ...deps(), policies: [policy('a'), { name: 'none' }, policy('b')] }, claim);
    expect(order).toEqual(['a starts', 'b starts', 'b ends', 'a ends']);
    expect(replies()).toEqual(['re text 1']);
  });
});

describe('a turn that cannot succeed on a repeat', () => {
  it.each([
    ['a fault of wa2ai', 'candidates', new TypeError('x is not a function'), 'TURN_FAULT'],
    ['a table that cannot be read', 'candidates', new UnreadableError(), 'STORAGE_DAMAGED'],
    ['a route that makes no client', 'agents', new TypeError('bad settings'), 'ROUTE_DAMAGED'],
    ['an end that cannot be stored', 'finish', new UnreadableError(), 'STORAGE_DAMAGED'],
    ['a message that cannot be read', 'next', new UnreadableError(), 'STORAGE_DAMAGED'],
  ] as const)(
    'is a dead letter with a sentence, and the next message is answered (%s)',
    async (_what, where, error, reason) => {
      faults[where] = error;
      await next();
      await next();
      expect(ends()).toEqual([
        ['dead', reason],
        ['answered', undefined],
      ]);
      expect(state.deadLetters).toMatchObject([{ reason, error: expect.stringMatching(/^[A-Z].*\.$/) }]);
      expect(replies()).toEqual(['re text 2']);
    },
  );

  it('is named in the log by its message and its chat when it cannot be read', async () => {
    faults.next = new UnreadableError();
    await next();
    const chat = chatHash(claim.chatId);
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        message: 'message unreadable, storing a dead letter',
        fields: { err: expect.any(UnreadableError), messageId: String([...state.messages.keys()][0]), chat },
      }),
    );
  });

  it('because of a damaged route names the route and its damage, and sends no notice', async () => {
    routes = [aRoute({ accountId: 'default', channelId: '*', config: {}, damage: 'config.adk is wrong' })];
    await next();
    expect(state.deadLetters).toMatchObject([
      {
        reason: 'ROUTE_DAMAGED',
        error: expect.stringContaining(`${routes[0]?.id} cannot be used: config.adk`),
      },
    ]);
    expect(replies()).toEqual([]);
  });

  it('is not one whose earlier turns cannot be read', async () => {
    await next();
    faults.history = new UnreadableError();
    await next();
    expect(faults.history).toBeUndefined();
    expect(replies()).toEqual(['re text 1', 're text 2']);
  });
});

describe('a turn that can succeed on a repeat', () => {
  it.each(['candidates', 'finish', 'next'] as const)('stays open (%s)', async (where) => {
    faults[where] = new StorageUnavailableError({ sentence: 'away' });
    await expect(next()).rejects.toThrow(StorageUnavailableError);
    expect(ends()).toEqual([
      ['received', undefined],
      ['received', undefined],
    ]);
    await next();
    expect(replies()).toEqual(['re text 1']);
  });

  it('stays open when the service stops', async () => {
    stopping.abort(new Error('stopping'));
    faults.candidates = new TypeError('closed');
    await expect(next()).rejects.toThrow('stopping');
    expect(ends()[0]).toEqual(['received', undefined]);
  });
});

describe('a message that answers a question', () => {
  it('goes to the task of the question and to no route, and gets a reply that says so', async () => {
    const asked: string[] = [];
    const questions = {
      answer: async (chatId: string, messageId: string) => {
        asked.push(`${chatId} ${messageId}`);
        return 'task-1';
      },
    };
    faults.candidates = new Error('no route may be looked for');
    const [message] = state.messages.values();
    await answerMessage({ ...deps(), questions }, claim);
    expect(asked).toEqual([`${message?.chatId} ${message?.id}`]);
    expect(message).toMatchObject({
      state: 'answered',
      reason: 'question-answered',
      trace: [{ step: 'question', outcome: 'answered', taskId: 'task-1' }],
    });
    expect(delivered.map((reply) => reply.message.text)).toEqual([
      'Gracias, tu respuesta se ha transmitido.',
    ]);
  });

  it('goes to its route when the question is not for it', async () => {
    const [message] = state.messages.values();
    await answerMessage({ ...deps(), questions: { answer: async () => undefined } }, claim);
    expect(message).toMatchObject({ state: 'answered', routeId: routes[0]?.id });
  });
});
