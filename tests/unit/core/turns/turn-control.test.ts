import { describe, expect, it } from 'vitest';
import type { AgentResponse, IncomingMessage } from '../../../../router/src/core/models.ts';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { pacePolicy } from '../../../../router/src/core/policies/pace.ts';
import type { ChatClaim } from '../../../../router/src/core/ports/inbox.ts';
import { Suspects } from '../../../../router/src/core/suspects.ts';
import { ChatWorker } from '../../../../router/src/core/turns/chat-workers.ts';
import { Interruption } from '../../../../router/src/core/turns/turn.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { answerDeps } from '../../../support/answering.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { quietLog, recordingLog } from '../../../support/quiet-log.ts';
import { shaping, WITHOUT_NOTICES } from '../../../support/shaping.ts';

const ana = { phone: '5493777000002' };

/** A chat under these settings; its agent answers when `answer` is called. */
function setup(settings: ConversationSettings) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  const asked: Array<Pick<IncomingMessage, 'id' | 'text' | 'editOf'> & { answer(): void }> = [];
  const base = answerDeps({ inbox, clock });
  const answer = {
    ...base,
    ...shaping({ notices: WITHOUT_NOTICES, ...settings }),
    policies: [pacePolicy(base)],
    log: recordingLog(),
    agents: {
      endpointOf: () => 'http://agent',
      clientFor: () => ({
        sendMessage: async (
          _endpoint: string,
          { id, text, editOf }: IncomingMessage,
          { signal, beforeRequest }: { signal?: AbortSignal; beforeRequest?(): Promise<void> } = {},
        ) => {
          await beforeRequest?.();
          return new Promise<AgentResponse>((resolve, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason));
            const response = `re ${text}`;
            const editing = editOf === undefined ? {} : { editOf };
            asked.push({ id, text, ...editing, answer: () => resolve({ success: true, response }) });
          });
        },
      }),
    },
  };
  let worker: ChatWorker | undefined;
  const ends: unknown[] = [];
  const start = (claim: ChatClaim, isRepeat = false) => {
    const suspects = new Suspects({ clock, log: answer.log });
    const started = new ChatWorker({ answer, clock, suspects, onTurns: () => undefined }, claim, isRepeat);
    worker = started;
    void started.run().then((end) => ends.push(end));
  };
  /** Stores a message, as `receiveMessage` does. */
  const say = async (text: string, more: Parameters<typeof aMessage>[2] = {}) => {
    const message = aMessage('default', ana, { text, ...more });
    const stored = await inbox.add(message, 'n1');
    if (stored.isNewWorker && stored.worker) start(stored.worker);
    else worker?.onStored(stored.changed);
    await settle();
    return { ...stored, waMessageId: message.waMessageId };
  };
  const rows = () =>
    [...state.messages.values()].map((row) => [row.text, row.state, row.reason].filter(Boolean).join(' '));
  const sent = () => [...state.outbox.values()].map(({ text }) => text);
  return { clock, state, asked, say, start, ends, rows, sent, worker: () => worker };
}

/** Answers the last request. */
async function reply(asked: ReadonlyArray<{ answer(): void }>): Promise<void> {
  asked.at(-1)?.answer();
  await settle();
}

describe('a turn that waits for further messages', () => {
  it('is one question to the agent, asked when the person pauses', async () => {
    const { clock, asked, say, rows, sent, ends } = setup({ pace: { debounceMs: 1_000 } });
    for (const text of ['one', 'two', 'three']) {
      await say(text);
      await clock.advanceMs(900);
    }
    expect(asked).toEqual([]);
    await clock.advanceMs(100);
    expect(asked).toMatchObject([{ text: 'one\ntwo\nthree' }]);
    await reply(asked);
    expect(rows()).toEqual(['one ignored merged', 'two ignored merged', 'three answered']);
    expect(sent()).toEqual(['re one\ntwo\nthree']);
    expect(ends).toEqual([{ isClaimed: false }]);
  });

  it('waits no longer than maxWaitMs', async () => {
    const { clock, asked, say } = setup({ pace: { debounceMs: 1_000, maxWaitMs: 1_500 } });
    await say('one');
    await clock.advanceMs(900);
    await say('two');
    await clock.advanceMs(599);
    expect(asked).toEqual([]);
    await clock.advanceMs(1);
    expect(asked).toMatchObject([{ text: 'one\ntwo' }]);
  });

  it('ends at once with a command, which is answered after it', async () => {
    const { asked, say, sent } = setup({ pace: { debounceMs: 60_000, maxWaitMs: 60_000 } });
    await say('one');
    await say('/status');
    expect(asked).toMatchObject([{ text: 'one' }]);
    await reply(asked);
    expect(sent()).toEqual(['re one', 'Estoy aquí y respondo a tus mensajes.']);
  });

  it('is not asked when the person writes /stop', async () => {
    const { asked, say, rows, sent } = setup({ pace: { debounceMs: 60_000, maxWaitMs: 60_000 } });
    for (const text of ['one', 'two', '/stop']) await say(text);
    expect(asked).toEqual([]);
    expect(rows()).toEqual(['one ignored merged', 'two ignored stopped-by-person', '/stop answered command']);
    expect(sent()).toHaveLength(1);
  });

  it('has the same time for a worker of another process', async () => {
    const { clock, asked, say, start, worker } = setup({ pace: { debounceMs: 1_000 } });
    const { worker: claim } = await say('one');
    await clock.advanceMs(600);
    worker()?.drain();
    await settle();
    if (!claim) throw new Error('the chat is claimed');
    start(claim, true);
    await settle();
    await clock.advanceMs(399);
    expect(asked).toEqual([]);
    await clock.advanceMs(1);
    expect(asked).toMatchObject([{ text: 'one' }]);
  });

  it('takes the text of an edit, and nothing that its author deleted', async () => {
    const { clock, asked, say } = setup({ pace: { debounceMs: 1_000 } });
    const one = await say('oen');
    const two = await say('two');
    await say('one', { editOf: one.waMessageId });
    await say('', { kind: 'other', ignoredReason: 'deleted', deletes: two.waMessageId });
    await say('three');
    await clock.advanceMs(1_000);
    expect(asked).toMatchObject([{ text: 'one\nthree' }]);
  });
});

describe('messages that come while the agent works', () => {
  const whileItWorks = async (pace: ConversationSettings['pace']) => {
    const chat = setup({ pace });
    for (const text of ['one', 'two', 'three']) await chat.say(text);
    return chat;
  };

  it('wait one by one by default', async () => {
    const { asked, sent } = await whileItWorks({});
    for (let turn = 0; turn < 3; turn++) await reply(asked);
    expect(sent()).toEqual(['re one', 're two', 're three']);
  });

  it('become one question with `merge`', async () => {
    const { asked, sent } = await whileItWorks({ busy: 'merge' });
    for (let turn = 0; turn < 2; turn++) await reply(asked);
    expect(sent()).toEqual(['re one', 're two\nthree']);
  });

  it('end its call and start it again with `interrupt`; every call is counted', async () => {
    const { asked, sent, rows, state } = await whileItWorks({ busy: 'interrupt' });
    expect(asked.map(({ text }) => text)).toEqual(['one', 'one\ntwo', 'one\ntwo\nthree']);
    expect(new Set(asked.map(({ id }) => id)).size).toBe(3);
    await reply(asked);
    expect(sent()).toEqual(['re one\ntwo\nthree']);
    expect(rows()).toEqual(['one ignored merged', 'two ignored merged', 'three answered']);
    expect([...state.messages.values()].map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  it('do not end its call when they are commands', async () => {
    const { asked, say, sent } = setup({ pace: { busy: 'interrupt' } });
    await say('one');
    await say('/status');
    await reply(asked);
    expect(asked).toHaveLength(1);
    expect(sent()).toHaveLength(2);
  });
});

describe('a message that is changed while the agent works', () => {
  it('is asked again with its new text, as an edit', async () => {
    const { asked, say, sent, rows } = setup({});
    const one = await say('oen');
    const edit = await say('one', { editOf: one.waMessageId });
    expect(asked).toMatchObject([
      { text: 'oen' },
      { id: edit.waMessageId, text: 'one', editOf: one.waMessageId },
    ]);
    await reply(asked);
    expect(sent()).toEqual(['re one']);
    expect(rows()).toEqual(['one answered', 'one ignored edit-applied']);
  });

  it('is not answered when its author deletes it; the next one is', async () => {
    const { asked, say, sent, rows } = setup({});
    const one = await say('one');
    await say('two');
    await say('', { kind: 'other', ignoredReason: 'deleted', deletes: one.waMessageId });
    expect(asked.map(({ text }) => text)).toEqual(['one', 'two']);
    await reply(asked);
    expect(sent()).toEqual(['re two']);
    expect(rows().slice(0, 2)).toEqual(['one ignored deleted-by-author', 'two answered']);
  });

  it('is asked again when the signal of its change was lost', async () => {
    const { asked, say, sent, worker } = setup({});
    const one = await say('oen');
    const running = worker();
    if (!running) throw new Error('a worker runs');
    running.onStored = () => undefined;
    await say('one', { editOf: one.waMessageId });
    expect(asked).toHaveLength(1);
    await reply(asked);
    await reply(asked);
    expect(sent()).toEqual(['re one']);
  });
});

describe('Interruption', () => {
  const turn = { messageId: '2', merged: [{ messageId: '1', bubbleId: 'A' }] };

  it('ends the call for a change of any message of the turn, and of no other', () => {
    const interruption = new Interruption(turn, async () => false, quietLog);
    interruption.onStored('3');
    expect(interruption.signal.aborted).toBe(false);
    interruption.onStored('1');
    expect(interruption.signal.aborted).toBe(true);
  });

  it('does not end the call of an agent that has opened a task', async () => {
    const interruption = new Interruption(turn, async () => true, quietLog);
    interruption.forbid();
    interruption.onStored('2');
    interruption.onStored(undefined);
    await settle();
    expect(interruption.signal.aborted).toBe(false);
  });

  it('lets the call go on when new messages cannot be read', async () => {
    const log = recordingLog();
    const interruption = new Interruption(turn, () => Promise.reject(new Error('damaged')), log);
    interruption.onStored(undefined);
    await settle();
    expect(interruption.signal.aborted).toBe(false);
    expect(log.lines).toHaveLength(1);
  });
});
