import { describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../../../router/src/core/agent-client.ts';
import {
  AgentProtocolError,
  AgentUnavailableError,
  StorageUnavailableError,
} from '../../../../router/src/core/errors.ts';
import type { AgentResponse, OutgoingMessage } from '../../../../router/src/core/models.ts';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { answerMessage } from '../../../../router/src/core/turns/answer-message.ts';
import type { QueuedReply, TurnControl } from '../../../../router/src/core/turns/turn.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryDeadLetters } from '../../../doubles/memory-dead-letters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { answerDeps } from '../../../support/answering.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { shaping, WITHOUT_NOTICES } from '../../../support/shaping.ts';

const person = { phone: '5493777239922' };

type Write = (text: string) => Promise<void>;
/** Writes its answer piece by piece. */
type Agent = (write: Write, options: AttemptOptions) => Promise<AgentResponse>;

const says = (response: string): AgentResponse => ({ success: true, response });

/** One chat whose agent writes while its phone is watched. */
function setup(settings: ConversationSettings) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  /** What the phone got, in its order: new messages, and `edit` or `deletion` of one. */
  const phone: Array<{ text: string; of?: string; id: string; quote?: string }> = [];
  const receive = ({ text, special, waMessageId, quote }: OutgoingMessage) =>
    phone.push({
      text,
      id: waMessageId,
      ...(special && 'of' in special && { of: special.of }),
      ...(quote && { quote: quote.text }),
    });
  const store = { failures: 0 };
  const addPart = inbox.addPart.bind(inbox);
  inbox.addPart = async (...args) => {
    if (store.failures-- > 0) {
      await addPart(...args);
      throw new StorageUnavailableError({ sentence: 'the connection broke after the commit' });
    }
    return addPart(...args);
  };
  let agent: Agent = async () => says('');
  const control: TurnControl = {};
  const stopping = new AbortController();
  const delivery = {
    deliver: (rows: readonly QueuedReply[]) => {
      for (const { message } of rows) receive(message);
    },
    openSlot: () => undefined,
    deliverNow: async ({ outboxId, message }: QueuedReply) => {
      Object.assign(state.outbox.get(outboxId) ?? {}, { state: 'sent' });
      receive(message);
      return true;
    },
    sendUnstored: async (_chat: string, message: OutgoingMessage) => void receive(message),
  };
  const deps = {
    ...answerDeps({ inbox, clock, stopping: stopping.signal }),
    ...shaping({ notices: WITHOUT_NOTICES, ...settings }),
    accounts: { delivery: () => delivery },
    agents: {
      endpointOf: () => 'http://agent',
      clientFor: () => ({
        sendMessage: async (_endpoint: string, _message: unknown, options: AttemptOptions = {}) => {
          await options.beforeRequest?.();
          const write = async (text: string) => {
            options.onText?.(() => text);
            await settle();
            if (settings.reply?.stream === 'paragraphs') await clock.advanceMs(250);
          };
          return agent(write, options);
        },
      }),
    },
  };
  const add = async (given: Parameters<typeof aMessage>[2] = {}) => {
    const { worker, messageId } = await inbox.add(aMessage('default', person, given), 'n1');
    if (!worker) throw new Error('the chat was not claimed');
    return { worker, messageId };
  };
  const ask = async (next: Agent, given: Parameters<typeof aMessage>[2] = {}) => {
    agent = next;
    const { worker, messageId } = await add(given);
    await answerMessage(deps, worker, { control });
    return state.messages.get(Number(messageId));
  };
  /** The turn of a message ends by a crash in its first run, and runs again. */
  const askTwice = async (first: Agent, second: Agent) => {
    const { worker, messageId } = await add();
    agent = async (write, options) => {
      await first(write, options);
      throw new StorageUnavailableError({ sentence: 'the process ended here' });
    };
    await expect(answerMessage(deps, worker, { control })).rejects.toThrow('the process ended here');
    agent = second;
    await answerMessage(deps, worker, { control, isRepeat: true });
    return state.messages.get(Number(messageId));
  };
  const texts = () => phone.map(({ text }) => text);
  /** What the chat shows: bubbles with their last text. */
  const shown = () => {
    const bubbles = new Map<string, string>();
    for (const { id, of, text } of phone) {
      if (of === undefined) bubbles.set(id, text);
      else if (text === '') bubbles.delete(of);
      else bubbles.set(of, text);
    }
    return [...bubbles.values()];
  };
  const stored = () => [...state.outbox.values()].map(({ text, special }) => [special?.kind ?? 'text', text]);
  return { ask, askTwice, add, phone, texts, shown, stored, clock, control, state, store, deps, delivery };
}

describe('An answer by paragraphs', () => {
  const paragraphs: ConversationSettings = { reply: { stream: 'paragraphs' } };

  it('sends each paragraph when it is complete, and the rest at the end', async () => {
    const { ask, texts, stored } = setup(paragraphs);
    const row = await ask(async (write) => {
      await write('**One** is');
      expect(texts()).toEqual([]);
      await write('**One** is complete.\n\nTwo');
      expect(texts()).toEqual(['*One* is complete.']);
      await write('**One** is complete.\n\nTwo is too.\n\nThr');
      return says('**One** is complete.\n\nTwo is too.\n\nThree.');
    });
    expect(texts()).toEqual(['*One* is complete.', 'Two is too.', 'Three.']);
    expect(stored().map(([, text]) => text)).toEqual(texts());
    expect(row).toMatchObject({ state: 'answered', reason: undefined });
    expect(row?.trace).toContainEqual(expect.objectContaining({ step: 'stream', outcome: 'paragraphs' }));
  });

  it('quotes the question with the first paragraph only', async () => {
    const { ask, phone } = setup({ reply: { stream: 'paragraphs', quote: 'always' } });
    await ask(
      async (write) => {
        await write('One.\n\nTwo');
        return says('One.\n\nTwo.');
      },
      { text: 'why?' },
    );
    expect(phone.map(({ quote }) => quote)).toEqual(['why?', undefined]);
  });

  it('continues after a crash behind what was sent', async () => {
    const { askTwice, texts } = setup(paragraphs);
    await askTwice(
      async (write) => {
        await write('One.\n\nTwo.\n\nThr');
        return says('');
      },
      async (write) => {
        await write('One.\n\nTwo.\n\nThree.\n\nFo');
        return says('One.\n\nTwo.\n\nThree.\n\nFour.');
      },
    );
    expect(texts()).toEqual(['One.', 'Two.', 'Three.', 'Four.']);
  });

  it('sends another answer of the repeated turn whole, and not before its end', async () => {
    const { askTwice, texts } = setup(paragraphs);
    await askTwice(
      async (write) => {
        await write('One.\n\nTwo');
        return says('');
      },
      async (write) => {
        await write('Other.\n\nMore.\n\nEn');
        expect(texts()).toEqual(['One.']);
        return says('Other.\n\nMore.\n\nEnd.');
      },
    );
    expect(texts()).toEqual(['One.', 'Other.\n\nMore.\n\nEnd.']);
  });

  it('is answered when the repeated turn has nothing to add', async () => {
    const { askTwice, texts } = setup(paragraphs);
    const row = await askTwice(
      async (write) => {
        await write('One.\n\nTwo');
        return says('');
      },
      async () => says('One.'),
    );
    expect(texts()).toEqual(['One.']);
    expect(row).toMatchObject({ state: 'answered', reason: undefined });
  });

  it('sends a paragraph once when the database confirms it late', async () => {
    const { ask, texts, store, clock } = setup(paragraphs);
    store.failures = 1;
    await ask(async (write) => {
      await write('One.\n\nTwo');
      await clock.advanceMs(60_000);
      return says('One.\n\nTwo.');
    });
    expect(texts()).toEqual(['One.', 'Two.']);
  });

  it('keeps its paragraphs when the agent fails, and the notice follows', async () => {
    const { ask, texts } = setup({ ...paragraphs, notices: { ...WITHOUT_NOTICES, failed: 'Sorry.' } });
    await ask(async (write) => {
      await write('One.\n\nTwo');
      throw new AgentProtocolError({ sentence: 'it broke' });
    });
    expect(texts()).toEqual(['One.', 'Sorry.']);
  });

  it('sends nothing for a worker that lost its chat', async () => {
    const { add, texts, deps, state } = setup(paragraphs);
    const { worker } = await add();
    const agents = {
      ...deps.agents,
      clientFor: () => ({
        sendMessage: async (_endpoint: string, _message: unknown, options: AttemptOptions = {}) => {
          for (const chat of state.chats.values()) chat.workerEpoch += 1;
          options.onText?.(() => 'One.\n\nTwo');
          await settle();
          options.onText?.(() => 'One.\n\nTwo.\n\nThree');
          await settle();
          return says('One.\n\nTwo.\n\nThree.');
        },
      }),
    };
    await answerMessage({ ...deps, agents }, worker);
    expect(texts()).toEqual(['One.\n\nTwo.\n\nThree.']);
  });

  it('waits for the owner where answers are approved', async () => {
    const { ask, texts, state, add } = setup(paragraphs);
    await add();
    for (const chat of state.chats.values()) chat.pause = { sinceMs: 0, mode: 'approve' };
    await ask(async (write) => {
      await write('One.\n\nTwo');
      return says('One.\n\nTwo.');
    });
    expect(texts()).toEqual([]);
  });
});

describe('An answer that grows in one message', () => {
  const edit: ConversationSettings = { reply: { stream: 'edit' } };

  it('is one message, edited at most once a second, whose last edit is stored', async () => {
    const { ask, texts, shown, stored, clock } = setup(edit);
    await ask(async (write) => {
      await write('The answer');
      expect(texts()).toEqual([]);
      await write('The answer is lon');
      await clock.advanceMs(1_000);
      expect(texts()).toEqual(['The answer is']);
      await write('The answer is long and gro');
      await write('The answer is long and grows ye');
      await clock.advanceMs(999);
      expect(texts()).toHaveLength(1);
      await clock.advanceMs(1);
      expect(texts()).toEqual(['The answer is', 'The answer is long and grows']);
      await write('The answer is long and grows yet mor');
      return says('The answer is long and grows yet more.');
    });
    expect(shown()).toEqual(['The answer is long and grows yet more.']);
    expect(stored()).toEqual([
      ['text', 'The answer is long and grows yet more.'],
      ['edit', 'The answer is long and grows yet more.'],
    ]);
  });

  it('is a message without edits when it is complete within a second', async () => {
    const { ask, texts, stored, clock } = setup(edit);
    await ask(async (write) => {
      await write('A short ans');
      await clock.advanceMs(500);
      return says('A short answer.');
    });
    expect(texts()).toEqual(['A short answer.']);
    expect(stored()).toEqual([['text', 'A short answer.']]);
  });

  it('continues in further messages where it is too long', async () => {
    const { ask, shown, clock } = setup({ reply: { stream: 'edit', maxChars: 100 } });
    const sentence = 'A sentence with words. ';
    await ask(async (write) => {
      for (let count = 1; count <= 12; count++) {
        await write(sentence.repeat(count));
        await clock.advanceMs(1_000);
      }
      return says(sentence.repeat(13).trim());
    });
    expect(shown().join(' ')).toBe(sentence.repeat(13).trim());
    expect(shown()).toHaveLength(4);
  });

  it('is one message with the last text when the turn is repeated after a crash', async () => {
    const { askTwice, shown, clock } = setup(edit);
    await askTwice(
      async (write) => {
        await write('The first answer is');
        await clock.advanceMs(1_000);
        return says('');
      },
      async (write) => {
        await write('Another ans');
        await clock.advanceMs(1_000);
        return says('Another answer.');
      },
    );
    expect(shown()).toEqual(['Another answer.']);
  });

  it('does not shrink while a repeated turn writes the same', async () => {
    const { askTwice, texts, clock } = setup(edit);
    await askTwice(
      async (write) => {
        await write('One two three four');
        await clock.advanceMs(1_000);
        return says('');
      },
      async (write) => {
        await write('One two thr');
        await clock.advanceMs(1_000);
        return says('One two three four.');
      },
    );
    expect(texts()).toEqual(['One two three', 'One two three four.']);
  });

  it('is a new message when the first one is too old to be edited', async () => {
    const { askTwice, shown, clock } = setup(edit);
    await askTwice(
      async (write) => {
        await write('The first answer is');
        await clock.advanceMs(1_000);
        return says('');
      },
      async () => {
        await clock.advanceMs(15 * 60_000);
        return says('Late.');
      },
    );
    expect(shown()).toEqual(['The first answer', 'Late.']);
  });

  it('deletes a message that the last answer does not need', async () => {
    const { ask, shown, clock } = setup({ reply: { stream: 'edit', maxChars: 100 } });
    await ask(async (write) => {
      await write('Many words. '.repeat(15));
      await clock.advanceMs(1_000);
      return says('Short.');
    });
    expect(shown()).toEqual(['Short.']);
  });

  it('becomes the notice when the agent fails, and stays where there is none', async () => {
    const fail: Agent = async (write) => {
      await write('The answer is lon');
      await clocks.at(-1)?.advanceMs(1_000);
      throw new AgentProtocolError({ sentence: 'it broke' });
    };
    const clocks: FakeClock[] = [];
    const said = [];
    for (const failed of ['Sorry.', false] as const) {
      const { ask, shown, clock } = setup({ ...edit, notices: { ...WITHOUT_NOTICES, failed } });
      clocks.push(clock);
      await ask(fail);
      said.push(shown());
    }
    expect(said).toEqual([['Sorry.'], ['The answer is']]);
  });

  it('becomes the answer of the next attempt', async () => {
    const { ask, shown, deps, clock } = setup(edit);
    deps.policy = { tryForMs: 60_000, backoffMs: () => 0 };
    let attempt = 0;
    await ask(async (write) => {
      if (++attempt === 2) return says('The second.');
      await write('The first is');
      await clock.advanceMs(1_000);
      void settle().then(() => clock.advanceMs(1)); // the wait before the next attempt
      throw new AgentUnavailableError({ sentence: 'it broke' });
    });
    expect(shown()).toEqual(['The second.']);
  });

  it('has its files after its text', async () => {
    const { ask, stored, clock } = setup(edit);
    await ask(async (write) => {
      await write('Here is the pict');
      await clock.advanceMs(1_000);
      const file = { kind: 'image' as const, mimeType: 'image/png', bytes: new Uint8Array(1) };
      return { ...says('Here is the picture.'), files: [file] };
    });
    expect(stored()).toEqual([
      ['text', 'Here is the picture.'],
      ['edit', 'Here is the picture.'],
      ['text', ''],
    ]);
  });

  it('is not edited while its message was not sent', async () => {
    const { ask, texts, delivery, clock } = setup(edit);
    delivery.deliverNow = async () => false;
    await ask(async (write) => {
      await write('The answer is lon');
      await clock.advanceMs(1_000);
      await write('The answer is long and gro');
      await clock.advanceMs(1_000);
      return says('The answer is long and grows.');
    });
    expect(texts()).toEqual(['The answer is long and grows.']);
  });

  it('stays as it is when the person writes /stop', async () => {
    const { ask, shown, control, clock } = setup(edit);
    const row = await ask(async (write, { signal }) => {
      await write('The answer is lon');
      await clock.advanceMs(1_000);
      await write('The answer is long and gro');
      control.stop?.();
      signal?.throwIfAborted();
      return says('The answer is long and grows.');
    });
    expect(shown()).toEqual(['The answer is']);
    expect(row?.reason).toBe('stopped-by-person');
  });

  it('stays when its task goes on, whose line follows', async () => {
    const { ask, shown, clock } = setup(edit);
    await ask(async (write) => {
      await write('The answer is lon');
      await clock.advanceMs(1_000);
      return { ...says('Task 1 goes on.'), task: { remoteId: '1' } };
    });
    expect(shown()).toEqual(['The answer is', 'Task 1 goes on.']);
  });
});

describe('An answer without streaming', () => {
  it('is not offered to the client, and reads no parts of an earlier run', async () => {
    const { askTwice, deps, texts } = setup({});
    let reads = 0;
    const { parts } = deps.inbox;
    deps.inbox.parts = (messageId) => {
      reads += 1;
      return parts.call(deps.inbox, messageId);
    };
    const agent: Agent = async (_write, { onText }) => {
      expect(onText).toBeUndefined();
      return says('whole');
    };
    await askTwice(agent, agent);
    expect(texts()).toEqual(['whole']);
    expect(reads).toBe(0);
  });

  it('has its parts forgotten by a replay of the message', async () => {
    const { ask, texts, state, deps } = setup({ reply: { stream: 'paragraphs' } });
    await ask(async (write) => {
      await write('One.\n\nTwo');
      throw new AgentProtocolError({ sentence: 'it broke' });
    });
    const [letter] = state.deadLetters.values();
    const replay = await new MemoryDeadLetters(state).replay(String(letter?.id), 'n1');
    const worker = 'worker' in replay ? replay.worker : undefined;
    if (!worker) throw new Error('the chat was not claimed');
    const agents = { ...deps.agents, clientFor: () => ({ sendMessage: async () => says('One.\n\nTwo.') }) };
    await answerMessage({ ...deps, agents }, worker);
    expect(texts()).toEqual(['One.', 'One.\n\nTwo.']);
  });
});
