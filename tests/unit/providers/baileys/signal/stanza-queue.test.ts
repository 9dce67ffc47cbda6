import { AsyncLocalStorage } from 'node:async_hooks';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import { ciphertextsOf } from '../../../../../router/src/providers/baileys/messages/stanza.ts';
import { StanzaQueue } from '../../../../../router/src/providers/baileys/signal/stanza-queue.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

/** As many as Baileys gets at a time. */
const AT_BAILEYS = 100;
const MIB = 1024 * 1024;

let queue: StanzaQueue;
/** What Baileys has got: ids of messages, or 'offline end'. */
let got: string[];
let atBaileys: BinaryNode[];
let timesShort: number;
let context: AsyncLocalStorage<string>;
let contexts: Set<string | undefined>;

beforeEach(() => {
  got = [];
  atBaileys = [];
  timesShort = 0;
  context = new AsyncLocalStorage();
  contexts = new Set();
  queue = new StanzaQueue({
    chatOf: ({ from }) => from ?? '',
    emit: (event, node) => reaches(event, node),
    onShort: () => {
      timesShort += 1;
    },
    log: quietLog,
  });
});

function reaches(event: string, node: BinaryNode): void {
  contexts.add(context.getStore());
  got.push(event === 'CB:message' ? (node.attrs.id ?? '') : 'offline end');
  if (event !== 'CB:message' || !Array.isArray(node.content)) return;
  queue.awaits(node);
  atBaileys.push(node);
}

const stanza = (from: string, id: string, bytes = 1): BinaryNode => ({
  tag: 'message',
  attrs: { from, id },
  content: [{ tag: 'enc', attrs: { type: 'msg' }, content: Buffer.alloc(bytes) }],
});

/** Read off the socket. */
function arrives(node: BinaryNode, event = 'CB:message'): void {
  if (!queue.keeps(event, node)) reaches(event, node);
}

const offlineEnd = () => arrives({ tag: 'ib', attrs: {} }, 'CB:ib,,offline');

/** Baileys' turn to decrypt its oldest so many, within a transaction of its own. */
async function begins(count = 1): Promise<void> {
  for (const node of atBaileys.splice(0, count)) {
    context.run('a key transaction', () => tellBegun(node));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function tellBegun(node: BinaryNode): void {
  for (const ciphertext of ciphertextsOf(node)) queue.begun(ciphertext);
}

/** Ana writes so many that Baileys has enough. */
function anaFills(): void {
  for (let number = 1; number <= AT_BAILEYS; number++) arrives(stanza('ana', `ana ${number}`));
  expect(got).toHaveLength(AT_BAILEYS);
  got = [];
}

describe('messages', () => {
  it('reach Baileys at once while it has few', () => {
    arrives(stanza('ana', 'one'));
    arrives(stanza('bo', 'two'));
    offlineEnd();
    expect(got).toEqual(['one', 'two', 'offline end']);
  });

  it('wait while it has enough, and follow one by one, in no transaction of the one before', async () => {
    anaFills();
    arrives(stanza('ana', 'next'));
    arrives(stanza('ana', 'last'));
    expect(got).toEqual([]);
    contexts.clear();
    await begins();
    expect(got).toEqual(['next']);
    await begins();
    expect(got).toEqual(['next', 'last']);
    expect([...contexts]).toEqual([undefined]);
  });

  it('of a chat with few do not wait for those of one with many; one chat keeps its order', async () => {
    anaFills();
    for (const id of ['a1', 'a2', 'a3', 'a4']) arrives(stanza('ana', id));
    for (const id of ['b1', 'b2']) arrives(stanza('bo', id));
    arrives(stanza('cleo', 'c1'));
    await begins(7);
    expect(got).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('do not overtake those that wait, though Baileys could take one', async () => {
    anaFills();
    arrives(stanza('ana', 'first'));
    for (const oldest of atBaileys.splice(0, 1)) tellBegun(oldest);
    arrives(stanza('ana', 'second'));
    expect(got).toEqual([]);
    await begins(2);
    expect(got).toEqual(['first', 'second']);
  });

  it('without a ciphertext keep their place, and none waits for their decryption', async () => {
    anaFills();
    arrives({ tag: 'message', attrs: { from: 'ana', id: 'empty' } });
    arrives(stanza('ana', 'behind'));
    await begins();
    expect(got).toEqual(['empty', 'behind']);
  });

  it('are of no more interest when their connection is gone', async () => {
    anaFills();
    arrives(stanza('ana', 'held'));
    queue.close();
    await begins();
    arrives(stanza('bo', 'of the last bytes'));
    offlineEnd();
    expect(got).toEqual([]);
  });
});

describe('the end of what had waited at WhatsApp', () => {
  it('comes after every message before it, and waits for none after it', async () => {
    anaFills();
    for (const id of ['a1', 'a2', 'a3']) arrives(stanza('ana', id));
    offlineEnd();
    arrives(stanza('ana', 'a4'));
    arrives(stanza('bo', 'b1'));
    await begins(3);
    expect(got).toEqual(['a1', 'b1', 'a2']);
    await begins(2);
    expect(got).toEqual(['a1', 'b1', 'a2', 'a3', 'offline end', 'a4']);
  });
});

describe('when the messages that wait get too large', () => {
  const large = (number: number) => arrives(stanza('ana', `large ${number}`, MIB));
  const large1To = (last: number) => Array.from({ length: last }, (_, index) => `large ${index + 1}`);

  beforeEach(() => {
    anaFills();
    for (let number = 1; number <= 33; number++) large(number);
  });

  it('the chat with the most loses what came last and what follows, and no other', async () => {
    arrives(stanza('bo', 'kept'));
    arrives(stanza('ana', 'after the lost ones'));
    await begins(32);
    expect(got).toEqual(['large 1', 'kept', ...large1To(31).slice(1)]);
  });

  it('it loses some that were held already, rather than a chat with less', async () => {
    for (let number = 1; number <= 3; number++) arrives(stanza('bo', `bo ${number}`, MIB));
    await begins(31);
    const [turns, rest] = [got.slice(0, 6), got.slice(6)];
    expect(turns).toEqual(['large 1', 'bo 1', 'large 2', 'bo 2', 'large 3', 'bo 3']);
    expect(rest).toEqual(large1To(28).slice(3));
  });

  it('a new connection is asked for, once, when Baileys is through with all that was held then', async () => {
    arrives(stanza('bo', 'in its turn'));
    await begins(32);
    arrives(stanza('cleo', 'over the next one'));
    await begins(99);
    expect(timesShort).toBe(0);
    await begins(1);
    expect(timesShort).toBe(1);
    expect(got).toEqual(['large 1', 'in its turn', ...large1To(31).slice(1)]);
  });

  it('no new connection is asked for when there is one already', async () => {
    await begins(130);
    for (const last of atBaileys.splice(0)) tellBegun(last);
    queue.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(timesShort).toBe(0);
  });

  it('what had waited at WhatsApp has not ended', async () => {
    offlineEnd();
    await begins(131);
    expect(got).toEqual(large1To(31));
  });

  it('all else passes', () => {
    expect(queue.keeps('CB:ack', { tag: 'ack', attrs: {} })).toBe(false);
  });
});
