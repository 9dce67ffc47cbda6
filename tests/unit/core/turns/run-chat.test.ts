import { describe, expect, it } from 'vitest';
import { chatHash } from '../../../../router/src/core/chat-id.ts';
import { AgentUnavailableError, StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { Suspects } from '../../../../router/src/core/suspects.ts';
import { ChatWorker } from '../../../../router/src/core/turns/chat-workers.ts';
import { aMessage, newClaimOf } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { type AnsweringOptions, answerDeps } from '../../../support/answering.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ana = { phone: '5493777000001' };

/** A worker of a chat with these messages. `asked` has text and isRepeat of each request. */
async function setup(
  texts: string[],
  options: Pick<AnsweringOptions, 'agent' | 'failure'> & { isRepeat?: boolean } = {},
) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  const stopping = new AbortController();
  const asked: Array<[text: string, isRepeat: boolean]> = [];
  const [first, ...rest] = texts;
  const claim = newClaimOf(await inbox.add(aMessage('default', ana, { text: first }), 'node-1'));
  const say = (text: string) => inbox.add(aMessage('default', ana, { text }), 'node-1');
  for (const text of rest) await say(text);
  const log = recordingLog();
  const answer = {
    ...answerDeps({
      inbox,
      clock,
      stopping: stopping.signal,
      failure: options.failure,
      agent: async (message, isRepeat) => {
        asked.push([message.text, isRepeat]);
        if (options.agent) return options.agent(message, isRepeat);
        return { success: true, response: `re ${message.text}` };
      },
    }),
    log,
  };
  let turns = 0;
  const deps = {
    answer,
    clock,
    suspects: new Suspects({ clock, log }),
    onTurns: (change: number) => {
      turns += change;
    },
  };
  const worker = new ChatWorker(deps, claim, options.isRepeat ?? false);
  return { clock, state, inbox, stopping, asked, say, log, deps, worker, turns: () => turns };
}

describe('ChatWorker', () => {
  it('answers waiting messages in order, and ends when none is left', async () => {
    const { worker, asked, turns } = await setup(['one', 'two', 'three']);
    expect(await worker.run()).toEqual({ isClaimed: false });
    expect(asked.map(([text]) => text)).toEqual(['one', 'two', 'three']);
    expect(turns()).toBe(0);
  });

  it('answers a long backlog in order', async () => {
    const texts = Array.from({ length: 120 }, (_, index) => `m${index}`);
    const { worker, asked } = await setup(texts);
    await worker.run();
    expect(asked.map(([text]) => text)).toEqual(texts);
  });

  it('reads its message again when the answer to its end was lost, and ends when it was stored', async () => {
    const { worker, clock, asked, inbox, say } = await setup(['one']);
    const finishTurn = inbox.finishTurn.bind(inbox);
    inbox.finishTurn = async (...args) => {
      inbox.finishTurn = finishTurn;
      await finishTurn(...args);
      expect((await say('two')).isNewWorker).toBe(true);
      throw new StorageUnavailableError({ sentence: 'answer lost' });
    };
    const end = worker.run();
    await settle();
    await clock.advanceMs(500);
    expect(await end).toEqual({ isClaimed: false });
    expect(asked.map(([text]) => text)).toEqual(['one']);
  });

  it('answers a message that was just stored without reading it', async () => {
    const { inbox, deps, say, worker, asked } = await setup(['one']);
    await worker.run();
    inbox.nextTurn = () => Promise.reject(new Error('nothing is read'));
    const stored = await say('two');
    const end = await new ChatWorker(deps, newClaimOf(stored), false, stored.turn).run();
    expect(end).toEqual({ isClaimed: false });
    expect(asked.map(([text]) => text)).toEqual(['one', 'two']);
  });

  it('answers messages that were stored during its turn', async () => {
    const agent = async ({ text }: { text: string }) => {
      if (text === 'one') for (const more of ['two', 'three']) await say(more);
      return { success: true, response: `re ${text}` };
    };
    const { worker, asked, say } = await setup(['one'], { agent });
    expect(await worker.run()).toEqual({ isClaimed: false });
    expect(asked.map(([text]) => text)).toEqual(['one', 'two', 'three']);
  });

  it('marks only the first turn as a possible repeat', async () => {
    const { worker, asked } = await setup(['one', 'two'], { isRepeat: true });
    void worker.run();
    await settle();
    expect(asked).toEqual([
      ['one', true],
      ['two', false],
    ]);
  });

  it('waits with a backoff for a database that does not respond, then repeats the turn', async () => {
    const { worker, clock, asked, inbox, state, log } = await setup(['patience']);
    const finishTurn = inbox.finishTurn.bind(inbox);
    let failures = 3;
    inbox.finishTurn = async (...args) => {
      if (failures-- > 0) throw new StorageUnavailableError({ sentence: 'connection lost' });
      return finishTurn(...args);
    };
    void worker.run();
    await settle();
    for (const waitMs of [500, 1_000, 1_500]) {
      const before = asked.length;
      await clock.advanceMs(waitMs - 1);
      expect(asked).toHaveLength(before);
      await clock.advanceMs(1);
      expect(asked).toHaveLength(before + 1);
    }
    expect(asked.map(([, isRepeat]) => isRepeat)).toEqual([false, true, true, true]);
    const retries = log.lines.filter(({ message }) => message === 'database unavailable, retrying turn');
    const about = {
      messageId: String([...state.messages.keys()][0]),
      chat: chatHash(worker.claim.chatId),
    };
    expect(retries.map(({ fields }) => fields)).toMatchObject([
      { ...about, attempt: 1 },
      { ...about, attempt: 2 },
      { ...about, attempt: 3 },
    ]);
  });

  it('goes on to the next message when an agent asks for more time than the route tries it', async () => {
    const agent = async ({ text }: { text: string }) => {
      if (text === 'one')
        throw new AgentUnavailableError(
          { sentence: 'status 503' },
          { retryAfterMs: 3_600_000, isAway: true },
        );
      return { success: true, response: `re ${text}` };
    };
    const failure = { tryForMs: 600_000 };
    const { worker, clock, state } = await setup(['one', 'two'], { agent, failure });
    void worker.run();
    await settle();
    await clock.advanceMs(599_999);
    expect([...state.messages.values()].map((message) => message.state)).toEqual(['received', 'received']);
    await clock.advanceMs(1);
    expect([...state.messages.values()].map((message) => message.state)).toEqual(['dead', 'answered']);
    expect(state.deadLetters).toMatchObject([
      { reason: 'AGENT_UNAVAILABLE', error: expect.stringContaining('tryForMs') },
    ]);
  });

  it('ends with its claim when it is drained between two turns', async () => {
    const { worker, asked } = await setup(['one', 'two']);
    const end = worker.run();
    worker.drain();
    expect(await end).toEqual({ isClaimed: true, isRepeat: false });
    expect(asked.map(([text]) => text)).toEqual(['one']);
  });

  it('reports its turn as a repeat when the service stopped during it', async () => {
    const { worker, inbox, stopping } = await setup(['one']);
    inbox.finishTurn = async () => {
      stopping.abort(new Error('stopping'));
      throw new StorageUnavailableError({ sentence: 'closed' });
    };
    expect(await worker.run()).toEqual({ isClaimed: true, isRepeat: true });
  });

  it('ends soon when its chat was taken over', async () => {
    const { worker, inbox, asked } = await setup(['one', 'two']);
    await inbox.claimChats([worker.claim], 'node-2');
    expect(await worker.run()).toEqual({ isClaimed: false });
    expect(asked).toEqual([]);
  });

  it('throws an error that a repeat would not change', async () => {
    const { worker, inbox } = await setup(['one']);
    inbox.nextTurn = () => Promise.reject(new TypeError('a fault nobody expected'));
    inbox.deadLetterUnreadable = async () => undefined;
    await expect(worker.run()).rejects.toThrow('a fault nobody expected');
  });
});
