import { describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../../../router/src/core/agent-client.ts';
import { AgentProtocolError, StorageRejectedError } from '../../../../router/src/core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../../../router/src/core/models.ts';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { slowAnswerPolicy } from '../../../../router/src/core/policies/presence.ts';
import { type AnswerDeps, answerMessage } from '../../../../router/src/core/turns/answer-message.ts';
import type { TurnControl } from '../../../../router/src/core/turns/turn.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { answerDeps } from '../../../support/answering.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { aRoute } from '../../../support/routes.ts';
import { shaping } from '../../../support/shaping.ts';

const ana = { phone: '5493777239922' };

/** The turns of one chat, answered by `agent` under these settings. */
function setup(
  agent: (message: IncomingMessage, signal?: AbortSignal) => Promise<AgentResponse>,
  settings: ConversationSettings = {},
  person = ana,
  ownsHelp = false,
) {
  const state = new MemoryState(() => 0);
  const inbox = new MemoryInbox(state);
  const clock = new FakeClock();
  const said: string[] = [];
  const deps: AnswerDeps = {
    ...answerDeps({ inbox, clock }),
    ...shaping(settings),
    policies: [
      slowAnswerPolicy({ clock, noticeLog: quietLog, say: async (_chat, text) => void said.push(text) }),
    ],
    agents: {
      endpointOf: () => 'http://agent',
      clientFor: () => ({
        ownsCommand: async () => ownsHelp,
        sendMessage: async (_endpoint: string, message: IncomingMessage, options?: AttemptOptions) => {
          await options?.beforeRequest?.();
          return agent(message, options?.signal);
        },
      }),
    },
  };
  const control: TurnControl = {};
  /** The end of the turn of a message, and what the chat got for it. */
  const say = async (given: Parameters<typeof aMessage>[2]) => {
    const { worker, messageId } = await inbox.add(aMessage('default', person, given), 'n1');
    if (!worker) throw new Error('the chat was not claimed');
    await answerMessage(deps, worker, { control });
    const row = state.messages.get(Number(messageId));
    const replies = [...state.outbox.values()].filter((reply) => reply.messageId === messageId);
    return {
      state: row?.state,
      reason: row?.reason,
      texts: replies.map(({ text }) => text),
      trace: row?.trace,
    };
  };
  const chat = () => {
    const [found] = state.chats.values();
    if (!found) throw new Error('nobody wrote');
    return found;
  };
  return { say, control, clock, chat, deps, inbox, said };
}

const session = async ({ session: found }: IncomingMessage) => ({
  success: true,
  response: found?.id ?? 'first',
});

describe('the session of a turn', () => {
  it('is the first one until the person writes /new', async () => {
    const { say } = setup(session);
    expect(await say({ text: 'one' })).toMatchObject({ texts: ['first'] });
    expect(await say({ text: '/new' })).toMatchObject({
      state: 'answered',
      reason: 'command',
      texts: ['Empieza una conversación nueva.'],
    });
    expect(await say({ text: 'two' })).toMatchObject({ texts: ['5493777239922_5493777239922_2'] });
    expect(await say({ text: '/status' })).toMatchObject({
      texts: ['Estoy aquí y respondo a tus mensajes. Esta conversación empezó el 1 de enero de 2026.'],
    });
  });

  it('is shared by the chat where the settings say so', async () => {
    const { say } = setup(session, { session: { scope: 'chat' } });
    expect(await say({ text: 'one' })).toMatchObject({ texts: ['5493777239922_5493777239922'] });
  });
});

it('the answer of a turn waits for the owner where the owner approves answers', async () => {
  const { say, chat } = setup(session);
  await say({ text: 'one' });
  chat().pause = { sinceMs: 0, mode: 'approve' };
  expect(await say({ text: 'two' })).toMatchObject({ state: 'answered', reason: 'draft', texts: ['first'] });
  expect(await say({ text: '/status' })).toMatchObject({
    reason: 'command',
    texts: ['Estoy aquí. Una persona revisa mis respuestas antes de que las recibas.'],
  });
});

describe('a command', () => {
  it('goes to the agent when the settings switch it off', async () => {
    const { say } = setup(async ({ text }) => ({ success: true, response: `agent: ${text}` }), {
      commands: { new: false },
    });
    expect(await say({ text: '/new' })).toMatchObject({ texts: ['agent: /new'] });
  });

  it('/stop ends the turn whose agent works, without an answer', async () => {
    const { say, control } = setup(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    const turn = say({ text: 'think' });
    await expect.poll(() => control.stop).toBeDefined();
    control.stop?.();
    expect(await turn).toMatchObject({ state: 'ignored', reason: 'stopped-by-person', texts: [] });
    expect(control.stop).toBeUndefined();
    expect(await say({ text: '/stop' })).toMatchObject({
      reason: 'command',
      texts: ['De acuerdo, lo dejo aquí.'],
    });
    expect(await say({ text: '/stop' })).toMatchObject({ texts: ['No hay nada en curso.'] });
  });

  it('/help begins with what can be written, or follows the help of the agent', async () => {
    const { say } = setup(async () => ({ success: true, response: 'I sell bread.' }));
    const { texts } = await say({ text: '/help' });
    expect(texts[0]).toMatch(/^Puedes escribir:\n- \/new/);
    const own = setup(async () => ({ success: true, response: 'I sell bread.' }), {}, ana, true);
    expect((await own.say({ text: '/help' })).texts[0]).toMatch(
      /^I sell bread\.\n\nTambién puedes escribir:\n/,
    );
  });
});

describe('a notice', () => {
  it('is sent for a turn that fails, once in ten minutes', async () => {
    const { say, clock } = setup(async () => {
      throw new AgentProtocolError({ sentence: 'no' });
    });
    const failed = 'Lo siento, ahora no puedo responder. Inténtalo más tarde, por favor.';
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', texts: [failed] });
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', texts: [] });
    await clock.advanceMs(10 * 60_000);
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', texts: [failed] });
  });

  it('is sent for a kind of message that the agent cannot take', async () => {
    const { say } = setup(session, { notices: { unsupported: 'Only text, please.' } });
    expect(await say({ kind: 'location', text: '' })).toMatchObject({
      state: 'ignored',
      reason: 'unsupported-kind:location',
      texts: ['Only text, please.'],
    });
  });

  it('is in the language that the chat wrote last, not in that of the country of the number', async () => {
    const maria = { phone: '14155550100' };
    const known: unknown[] = [];
    const agent = async ({ chatLanguage, text }: IncomingMessage) => {
      known.push([text, chatLanguage]);
      return { success: true, response: 'ok' };
    };
    const { say, clock } = setup(agent, {}, maria);
    const sticker = { kind: 'sticker' as const, text: '' };
    expect((await say(sticker)).texts).toEqual([
      'I cannot open this kind of message here. Please write it as text.',
    ]);
    await say({ text: 'Hola, ¿dónde está mi pedido?' });
    await clock.advanceMs(10 * 60_000);
    expect((await say(sticker)).texts).toEqual([
      'Aquí no puedo abrir este tipo de mensaje. Escríbelo como texto, por favor.',
    ]);
    await say({ text: '12' });
    expect((await say({ text: '/stop' })).texts).toEqual(['No hay nada en curso.']);
    await say({ text: 'Thanks, what is the price?' });
    expect((await say({ text: '/stop' })).texts).toEqual(['Nothing is running.']);
    expect(known).toEqual([
      ['Hola, ¿dónde está mi pedido?', undefined],
      ['12', 'es'],
      ['Thanks, what is the price?', 'es'],
    ]);
  });
});

describe('a turn whose person read that the answer is on its way', () => {
  /** An agent that takes longer than the notice of a slow answer. */
  const slowly = (answer: () => Promise<AgentResponse>) => {
    const all = setup(async () => {
      await all.clock.sleep(25_000);
      return answer();
    });
    const say = async (given: Parameters<typeof all.say>[0]) => {
      const ended = all.say(given);
      await expect.poll(() => all.clock.sleeping).toBe(2);
      await all.clock.advanceMs(20_000);
      await expect.poll(() => all.said.length).toBeGreaterThan(0);
      await all.clock.advanceMs(5_000);
      return ended;
    };
    return { ...all, say };
  };

  it('ends with a sentence when the agent answers with nothing', async () => {
    const { say, said } = slowly(async () => ({ success: true }));
    expect(await say({ text: 'ok' })).toMatchObject({
      state: 'answered',
      reason: 'agent-empty',
      texts: ['No tengo respuesta a tu mensaje.'],
    });
    expect(said).toEqual(['Esto tarda un poco más. La respuesta está en camino.']);
  });

  it('ends with the notice of a failure, also when the chat had it minutes ago', async () => {
    const { say } = slowly(() => Promise.reject(new AgentProtocolError({ sentence: 'no' })));
    const texts = ['Lo siento, ahora no puedo responder. Inténtalo más tarde, por favor.'];
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', texts });
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', texts });
  });
});

it('an agent may say nothing, when nothing was promised', async () => {
  const { say, said } = setup(async () => ({ success: true }));
  expect(await say({ text: 'ok' })).toMatchObject({ state: 'answered', reason: 'agent-empty', texts: [] });
  expect(said).toEqual([]);
});

describe('a turn that a fault of wa2ai ends', () => {
  const texts = ['Lo siento, ahora no puedo responder. Inténtalo más tarde, por favor.'];
  const answer = async () => ({ success: true, response: 'hi' });

  it('is answered with the notice of a failure', async () => {
    const { say, deps } = setup(answer);
    deps.formatReply = () => {
      throw new TypeError('x is not a function');
    };
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', reason: 'TURN_FAULT', texts });
  });

  it('stays without a word where the policies may have kept the person from an answer', async () => {
    const { say, deps } = setup(answer);
    deps.policies = [{ name: 'broken', before: () => Promise.reject(new TypeError('x is not a function')) }];
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', reason: 'TURN_FAULT', texts: [] });
  });

  /** Rejects that many ends of a turn. */
  const rejecting = (count: number) => {
    const { say, deps, inbox } = setup(answer);
    let rejected = 0;
    const finishTurn = inbox.finishTurn.bind(inbox);
    inbox.finishTurn = async (...args) => {
      if (++rejected <= count) throw new StorageRejectedError({ sentence: 'The database rejects a value.' });
      return finishTurn(...args);
    };
    const route = aRoute({ accountId: 'default', channelId: '*' });
    deps.routes = { ...deps.routes, candidates: async () => [route], get: async () => route };
    return say;
  };

  it('is answered with the notice when the database rejects its end', async () => {
    const say = rejecting(1);
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', reason: 'STORAGE_REJECTED', texts });
  });

  it('ends without a word when the database rejects the notice too', async () => {
    const say = rejecting(2);
    expect(await say({ text: 'ok' })).toMatchObject({ state: 'dead', reason: 'STORAGE_REJECTED', texts: [] });
  });
});
