import { beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError, Wa2aiError } from '../../../../router/src/core/errors.ts';
import type { Route } from '../../../../router/src/core/models.ts';
import { type AnswerDeps, answerNext } from '../../../../router/src/core/turns/answer-message.ts';
import { CircuitBreakers } from '../../../../router/src/core/turns/circuit-breaker.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';
import { aRoute } from '../../../support/routes.ts';

class UnreadableError extends Wa2aiError {
  constructor() {
    super('STORAGE_DAMAGED', 'dead', 'It cannot be read.');
  }
}

let state: MemoryState;
let inbox: MemoryInbox;
let loop: { chatId: string; epoch: number };
let routes: Route[];
let faults: Partial<Record<'candidates' | 'history' | 'agents' | 'finish' | 'next', Error>>;
let stopping: AbortController;

beforeEach(async () => {
  state = new MemoryState(() => 0);
  inbox = new MemoryInbox(state);
  routes = [aRoute({ accountId: 'default', channelId: '*' })];
  faults = {};
  stopping = new AbortController();
  for (const id of ['1', '2']) {
    const stored = await inbox.add({
      accountId: 'default',
      waMessageId: id,
      chat: { kind: 'person', phone: '5493777000001' },
      sender: { phone: '5493777000001' },
      kind: 'text',
      text: `text ${id}`,
      sentAtMs: 0,
      stanzaOrder: BigInt(id),
    });
    if (stored.startLoop) loop = stored.startLoop;
  }
});

/** Fails once, the first time. */
function fail(where: keyof typeof faults): void {
  const error = faults[where];
  delete faults[where];
  if (error) throw error;
}

function deps(): AnswerDeps {
  const clock = new FakeClock();
  return {
    inbox: {
      add: (message) => inbox.add(message),
      nextTurn: async (...args) => {
        fail('next');
        return inbox.nextTurn(...args);
      },
      finishTurn: async (...args) => {
        fail('finish');
        return inbox.finishTurn(...args);
      },
      deadLetterUnreadable: (...args) => inbox.deadLetterUnreadable(...args),
      mediaReference: (id) => inbox.mediaReference(id),
      renewLoop: (...args) => inbox.renewLoop(...args),
      openLoops: () => inbox.openLoops(),
    },
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
    },
    matcher: { test: async () => 'match' },
    environment: 'lab',
    agents: {
      clientFor: () => {
        fail('agents');
        return { sendMessage: async (_endpoint, { text }) => ({ success: true, response: `re ${text}` }) };
      },
      endpointOf: ({ agentEndpoint }) => agentEndpoint,
    },
    policy: { attempts: 1, backoffMs: () => 0 },
    circuits: new CircuitBreakers(),
    loopBreaker: {
      history: {
        answeredTurns: async () => {
          fail('history');
          return [];
        },
      },
      settings: { turns: 5, replyMs: 1_000 },
    },
    mintId: () => 'WA',
    media: { load: () => Promise.reject(new Error('not part of this test')) },
    setTyping: async () => undefined,
    deliver: () => undefined,
    clock,
    log: recordingLog(),
    stopping: stopping.signal,
  };
}

const next = () => answerNext(deps(), loop);
const ends = () => [...state.messages.values()].map(({ state: end, reason }) => [end, reason]);
const replies = () => [...state.outbox.values()].map(({ text }) => text);

describe('a turn that no repeat would end well', () => {
  it.each([
    ['a fault of wa2ai', 'candidates', new TypeError('x is not a function'), 'TURN_FAULT'],
    ['a table that cannot be read', 'candidates', new UnreadableError(), 'STORAGE_DAMAGED'],
    ['a route that makes no client', 'agents', new TypeError('bad settings'), 'ROUTE_DAMAGED'],
    ['an end that cannot be stored', 'finish', new UnreadableError(), 'STORAGE_DAMAGED'],
    ['a message that cannot be read', 'next', new UnreadableError(), 'STORAGE_DAMAGED'],
  ] as const)(
    'is a dead letter with a sentence, and the next has its turn (%s)',
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

  it('because of a damaged route names it and its damage, and sends its notice to nobody', async () => {
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

  it('is none when only the earlier turns cannot be read', async () => {
    faults.history = new UnreadableError();
    state.outbox.clear();
    await next();
    expect(replies()).toEqual(['re text 1']);
  });
});

describe('a turn that a repeat may end well', () => {
  it.each(['candidates', 'finish', 'next'] as const)('is left as it was (%s)', async (where) => {
    faults[where] = new StorageUnavailableError('away');
    await expect(next()).rejects.toThrow(StorageUnavailableError);
    expect(ends()).toEqual([
      ['received', undefined],
      ['received', undefined],
    ]);
    await next();
    expect(replies()).toEqual(['re text 1']);
  });

  it('is left as it was when the service stops', async () => {
    stopping.abort(new Error('stopping'));
    faults.candidates = new TypeError('closed');
    await expect(next()).rejects.toThrow('stopping');
    expect(ends()[0]).toEqual(['received', undefined]);
  });
});
