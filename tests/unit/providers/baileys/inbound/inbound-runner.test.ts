import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import {
  type BinaryNode,
  generateSignalPubKey,
  proto,
  type WAMessage,
  type WASocket,
} from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { jidHash } from '../../../../../router/src/core/chat-id.ts';
import { StorageRejectedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { InboundMessage } from '../../../../../router/src/core/messages/inbound-message.ts';
import type { NewMessage } from '../../../../../router/src/core/ports/inbox.ts';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { guardConsole } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { InboundRunner } from '../../../../../router/src/providers/baileys/inbound/inbound-runner.ts';
import { openAuthState } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { createAccountSignal } from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';
import { MemoryInbox } from '../../../../doubles/memory-inbox.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { MemoryState } from '../../../../doubles/memory-state.ts';
import { anyText } from '../../../../support/any-text.ts';
import { runs } from '../../../../support/property-runs.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { SignalPeer } from '../../../../whatsapp-emulator/signal-peer.ts';

const ANA = '34600000002@s.whatsapp.net';
const BO = '34600000003@s.whatsapp.net';
const ME = '34600000001:1@s.whatsapp.net';

/** A store whose commits can fail, and wait. */
class WatchedStore extends MemoryKeyStore {
  isDown = false;
  isInboxDown = false;
  commits = 0;
  gate: Promise<void> = Promise.resolve();
  /** WhatsApp id whose commit fails with this error. */
  failing: { waMessageId: string; error: Error } | undefined;

  override async commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    await this.gate;
    const isFailing = change.journal.some(({ waMessageId }) => waMessageId === this.failing?.waMessageId);
    if (this.failing && isFailing) throw this.failing.error;
    if (this.isDown) throw new StorageUnavailableError({ sentence: 'no database' });
    if (this.isInboxDown && change.messages) throw new StorageUnavailableError({ sentence: 'no inbox' });
    this.commits += 1;
    return super.commit(scope, change);
  }
}

let release: () => void;
beforeEach(() => {
  release = guardConsole(recordingLog());
});
afterEach(() => release());

/** Events that tests wait for. */
type Observed = 'received' | 'stored' | 'receipt' | 'refused' | 'asked' | 'baileys' | 'failed';

async function setup(
  given: {
    journal?: MemoryJournal;
    store?: WatchedStore;
    inbox?: MemoryInbox;
    receive?: (message: InboundMessage) => Promise<void>;
  } = {},
) {
  const journal = given.journal ?? new MemoryJournal();
  const store = given.store ?? new WatchedStore(journal);
  const log = recordingLog();
  const observed = new EventEmitter();
  const received: InboundMessage[] = [];
  const said: string[] = [];
  const state = {
    receive: given.receive ?? (async (_: InboundMessage): Promise<void> => undefined),
    toStore: (_: InboundMessage): NewMessage | undefined => undefined,
    onStored: (): void => {},
    unreadable: [] as string[],
  };
  const auth = await openAuthState({
    store,
    scope: { accountId: 'main', generation: 1 },
    // A failed commit is repeated at once.
    clock: { ...systemClock, sleep: async () => undefined },
    onStorageFailed: () => observed.emit('failed'),
    onKeyUnreadable: () => undefined,
  });
  const options: ConstructorParameters<typeof InboundRunner>[0] = {
    accountId: 'main',
    journal,
    receive: async (message) => {
      await state.receive(message);
      received.push(message);
      observed.emit('received');
    },
    toStore: (message) => state.toStore(message),
    stored: (message) => {
      state.onStored();
      tell('stored', `stored ${message.waMessageId}`);
    },
    ...(given.inbox && { findOriginal: given.inbox.original.bind(given.inbox) }),
    onTrouble: () => undefined,
    onStorageFailed: () => undefined,
    onRefused: () => undefined,
    onJournalUnreadable: (waMessageId) => state.unreadable.push(waMessageId),
    onOverflow: () => undefined,
    onReceiptSent: () => undefined,
    phoneOfLid: async () => undefined,
    own: () => ({ id: ME, lid: '' }),
    whatsAppNow: () => Date.now(),
    clock: systemClock,
    log,
    maxMessageAgeMs: () => 86_400_000,
    random: () => 0,
  };
  const runner = new InboundRunner(options);
  const tell = (event: Observed, what: string) => {
    said.push(what);
    observed.emit(event);
  };
  const socket = {
    ws: new EventEmitter(),
    ev: new EventEmitter(),
    messageRetryManager: null,
    sendReceipt: async (to: string, _: string | undefined, ids: string[], type?: string) =>
      tell('receipt', `receipt ${to} ${ids.join()} ${type}`),
    sendMessageAck: async ({ attrs }: BinaryNode, code?: number) =>
      tell('refused', `refuse ${attrs.id} ${code}`),
    sendRetryRequest: async ({ attrs }: BinaryNode) => tell('asked', `ask ${attrs.id}`),
    upsertMessage: async ({ key }: WAMessage) => tell('baileys', `show ${key.id}`),
  } as unknown as WASocket;
  const signal = createAccountSignal(
    auth.steps,
    auth.creds,
    pino({ level: 'silent' }),
    undefined,
    new Set<string>(),
  );
  await runner.replay();
  const connect = (to = runner) =>
    to.attach({
      socket,
      signal,
      auth,
      baileysListener: ({ attrs }) => tell('baileys', `baileys ${attrs.id}`),
    });
  /** The next process, connected. */
  const restart = async () => {
    const another = new InboundRunner(options);
    await another.replay();
    socket.ws.removeAllListeners();
    connect(another);
    return another;
  };
  const arrive = (node: BinaryNode) => socket.ws.emit('CB:message', node);
  const next = (event: Observed) => new Promise<void>((resolve) => observed.once(event, () => resolve()));
  const peers = new Map<string, SignalPeer>();
  const bundle = () => ({
    registrationId: auth.creds.registrationId,
    identityKey: generateSignalPubKey(auth.creds.signedIdentityKey.public),
    signedPreKey: {
      keyId: auth.creds.signedPreKey.keyId,
      publicKey: generateSignalPubKey(auth.creds.signedPreKey.keyPair.public),
      signature: auth.creds.signedPreKey.signature,
    },
  });
  /** A message of a phone. */
  const stanza = async (
    id: string,
    message: proto.IMessage = { conversation: id },
    from = ANA,
  ): Promise<BinaryNode> => {
    const peer = peers.get(from) ?? new SignalPeer(from.slice(0, 11));
    peers.set(from, peer);
    const { type, bytes } = await peer.encryptFor(ME, message, bundle);
    const attrs = { id, from, type: 'text', t: String(Math.floor(Date.now() / 1_000)) };
    return { tag: 'message', attrs, content: [{ tag: 'enc', attrs: { v: '2', type }, content: bytes }] };
  };
  return {
    peers,
    runner,
    journal,
    store,
    auth,
    socket,
    connect,
    restart,
    arrive,
    next,
    stanza,
    received,
    said,
    state,
    log,
  };
}

/** A connection; core takes messages with their keys, into an inbox. */
async function direct() {
  const memory = new MemoryState();
  const inbox = new MemoryInbox(memory);
  const journal = new MemoryJournal(() => memory);
  const store = new WatchedStore(journal, () => inbox);
  const context = await setup({ journal, store, inbox });
  context.state.toStore = (message) => ({ message, node: 'n1' });
  return { ...context, memory, detach: context.connect() };
}

/** A connection; core receives messages after their commit. */
async function delivering() {
  const context = await setup();
  return { ...context, detach: context.connect() };
}

/** No key decrypts it any more. */
function damage({ content }: BinaryNode): void {
  const [part] = content as BinaryNode[];
  if (part)
    part.content = Buffer.from((part.content as Buffer).map((byte, at) => (at > 60 ? byte ^ 1 : byte)));
}

const texts = (received: readonly InboundMessage[]) => received.map(({ text }) => text);
const pending = (journal: MemoryJournal) => journal.pending('main', { afterOrder: 0n, limit: 10 });

describe('a message that reaches the socket', () => {
  it('is acknowledged and delivered after its commit, and stays in the journal at first', async () => {
    const { connect, arrive, next, stanza, received, said, store, journal, auth, runner } = await setup();
    let open: () => void = () => undefined;
    store.gate = new Promise((resolve) => {
      open = resolve;
    });
    connect();
    const node = await stanza('A');
    const both = Promise.all([next('received'), next('receipt')]);
    arrive(node);
    // Its step has ended, and its commit has begun.
    while (auth.commits.appended === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([received, said]).toEqual([[], []]);
    open();
    await both;
    expect(texts(received)).toEqual(['A']);
    expect(said).toEqual([`receipt ${ANA} A inactive`]);
    expect(await pending(journal)).toHaveLength(1);
    await runner.stop();
  });

  it('twice is acknowledged twice and delivered once', async () => {
    const { connect, arrive, next, stanza, received, said, runner } = await setup();
    connect();
    const node = await stanza('A');
    const first = Promise.all([next('received'), next('receipt')]);
    arrive(node);
    await first;
    const second = next('receipt');
    arrive(node);
    await second;
    await runner.stop();
    expect(texts(received)).toEqual(['A']);
    expect(said).toHaveLength(2);
  });

  it('is named in the log when its receipt cannot be sent', async () => {
    const { connect, arrive, next, stanza, socket, runner, log } = await setup();
    connect();
    socket.sendReceipt = async () => {
      throw new Error('closed');
    };
    const received = next('received');
    arrive(await stanza('A'));
    await received;
    await runner.stop();
    expect(log.lines.find(({ message }) => message === 'stanza not sent')?.fields).toMatchObject({
      kind: 'receipt',
      waMessageIds: ['A'],
      jidHash: jidHash('main', ANA),
    });
  });

  it('and cannot be decrypted is requested again and refused, and logged once', async () => {
    const { connect, arrive, next, stanza, said, runner, log } = await setup();
    connect();
    const node = await stanza('A');
    damage(node);
    const refused = next('refused');
    arrive(node);
    await refused;
    expect(said).toEqual(['ask A', 'refuse A 500']);
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'messages not decrypted, requesting them again',
    ]);
    await runner.stop();
  });

  it('is not acknowledged when the commit fails, and is decrypted again over the next connection', async () => {
    const { connect, arrive, next, stanza, received, said, store, auth, runner } = await setup();
    const detach = connect();
    const node = await stanza('A');
    store.isDown = true;
    const failed = next('failed');
    arrive(node);
    await failed;
    detach();
    expect(said).toEqual([]);
    store.isDown = false;
    await auth.prepare();
    connect();
    const both = Promise.all([next('received'), next('receipt')]);
    arrive(node);
    await both;
    expect(texts(received)).toEqual(['A']);
    await runner.stop();
  });

  it('is found in the journal when its commit was reported as failed but stored', async () => {
    const { connect, arrive, next, stanza, received, store, auth, runner } = await setup();
    const detach = connect();
    const node = await stanza('A');
    const commit = store.commit.bind(store);
    store.commit = async (...change) => {
      await commit(...change);
      throw new StorageUnavailableError({ sentence: 'no answer' });
    };
    const failed = next('failed');
    arrive(node);
    await failed;
    detach();
    store.commit = commit;
    await auth.prepare();
    connect();
    const both = Promise.all([next('received'), next('receipt')]);
    arrive(node);
    await both;
    expect(texts(received)).toEqual(['A']);
    await runner.stop();
  });

  it('ends as undecryptable when the database rejects it, and the others are answered', async () => {
    const { connect, arrive, next, stanza, received, said, store, runner } = await setup();
    connect();
    store.failing = { waMessageId: 'B', error: new StorageRejectedError({ sentence: 'rejected' }) };
    const [a, b, c] = [await stanza('A'), await stanza('B'), await stanza('C')];
    const refused = next('refused');
    for (const node of [a, b, c]) arrive(node);
    await refused;
    while (received.length < 3) await next('received');
    expect(received.map(({ waMessageId }) => waMessageId).toSorted()).toEqual(['A', 'B:undecryptable', 'C']);
    expect(said).toContain('refuse B 487');
    await runner.stop();
  });

  it('ends as undecryptable after two connections that it ended with a database that works', async () => {
    const { connect, arrive, next, stanza, received, said, store, auth, runner } = await setup();
    const error = new StorageUnavailableError({ sentence: 'canceled' }, { isAnswer: true });
    store.failing = { waMessageId: 'A', error };
    const node = await stanza('A');
    for (let connection = 1; connection <= 2; connection += 1) {
      const detach = connect();
      const failed = next('failed');
      arrive(node);
      await failed;
      detach();
      await auth.prepare();
    }
    connect();
    const both = Promise.all([next('received'), next('refused')]);
    arrive(node);
    await both;
    expect(received).toMatchObject([{ waMessageId: 'A:undecryptable', kind: 'undecryptable' }]);
    expect(said).toEqual(['refuse A 487']);
    await runner.stop();
  });

  it('ends as undecryptable when nobody encrypted it, from any sender', async () => {
    const { connect, arrive, next, received, said, runner } = await setup();
    connect();
    const content = proto.Message.encode({ conversation: 'give Bob everything' }).finish();
    const parts = [{ tag: 'plaintext', attrs: {}, content }];
    const both = Promise.all([next('received'), next('refused')]);
    arrive({ tag: 'message', attrs: { id: 'A', from: ANA, t: '1700000000' }, content: parts });
    await both;
    const refused = next('refused');
    arrive({ tag: 'message', attrs: { id: 'B', from: ME, category: 'peer' }, content: parts });
    await refused;
    expect(received).toMatchObject([{ waMessageId: 'A:undecryptable', kind: 'undecryptable' }]);
    expect(said).toEqual(['refuse A 487', 'refuse B 487']);
    await runner.stop();
  });

  it('is logged when its author has another identity key than before', async () => {
    const { connect, arrive, next, stanza, received, peers, log, runner } = await setup();
    connect();
    const changes = () =>
      log.lines.filter(({ message }) => message === 'identity key of a person has changed');
    arrive(await stanza('A'));
    while (received.length < 1) await next('received');
    expect(changes()).toEqual([]);
    peers.clear();
    arrive(await stanza('B'));
    while (received.length < 2) await next('received');
    expect(changes()).toHaveLength(1);
    await runner.stop();
  });

  it('ends as undecryptable when its business name cannot be read', async () => {
    const { connect, arrive, next, stanza, received, said, runner } = await setup();
    connect();
    const node = await stanza('A');
    const parts = node.content as BinaryNode[];
    parts.push({ tag: 'verified_name', attrs: {}, content: Buffer.from('no certificate') });
    const both = Promise.all([next('received'), next('refused')]);
    arrive(node);
    await both;
    expect(received).toMatchObject([{ waMessageId: 'A:undecryptable' }]);
    expect(said).toEqual(['refuse A 487']);
    await runner.stop();
  });
});

describe('a message that core only stores before its turn', () => {
  const texts = (memory: MemoryState) => [...memory.messages.values()].map(({ text }) => text);

  it('is stored with its keys, and has no journal row', async () => {
    const { arrive, next, stanza, received, said, memory, journal, store, runner } = await direct();
    const both = Promise.all([next('stored'), next('receipt')]);
    arrive(await stanza('A'));
    await both;
    await runner.stop();
    expect(texts(memory)).toEqual(['A']);
    expect(received).toEqual([]);
    expect(await pending(journal)).toEqual([]);
    expect(store.commits).toBe(1);
    expect(said.toSorted()).toEqual([`receipt ${ANA} A inactive`, 'stored A']);
  });

  it.each([
    ['', false],
    [', also when its session was replaced meanwhile', true],
  ])(
    'is acknowledged when it comes again to a process that did not acknowledge it%s',
    async (_, isReplaced) => {
      const { arrive, next, stanza, memory, received, said, runner, restart } = await direct();
      const stored = next('stored');
      const node = await stanza('A');
      arrive(node);
      await stored;
      await runner.stop();
      said.splice(0);
      const again = await restart();
      const receipt = next('receipt');
      if (isReplaced) damage(node);
      arrive({ ...node, attrs: { ...node.attrs, offline: '1' } });
      await receipt;
      await again.stop();
      expect(said).toEqual([`receipt ${ANA} A inactive`]);
      expect(texts(memory)).toEqual(['A']);
      // The worker of its chat may never have been started.
      expect(received).toMatchObject([{ waMessageId: 'A', ignoredReason: 'undecryptable' }]);
    },
  );

  it('is answered when the answer to its commit was lost, and the database was away afterwards', async () => {
    const { arrive, next, stanza, memory, received, said, store, auth, connect, detach, runner } =
      await direct();
    const node = await stanza('A');
    const commit = store.commit.bind(store);
    store.commit = async (...change) => {
      await commit(...change);
      store.isDown = true;
      throw new StorageUnavailableError({ sentence: 'no answer' });
    };
    const failed = next('failed');
    arrive(node);
    await failed;
    detach();
    store.commit = commit;
    store.isDown = false;
    await auth.prepare();
    connect();
    const both = Promise.all([next('received'), next('receipt')]);
    arrive({ ...node, attrs: { ...node.attrs, offline: '1' } });
    await both;
    await runner.stop();
    expect(texts(memory)).toEqual(['A']);
    expect(received).toMatchObject([{ waMessageId: 'A' }]);
    expect(said).toEqual([`receipt ${ANA} A inactive`]);
  });

  it('is delivered when its turn could not be started', async () => {
    const { arrive, next, stanza, memory, received, state, runner } = await direct();
    state.onStored = () => {
      throw new Error('a fault');
    };
    const delivered = next('received');
    arrive(await stanza('A'));
    await delivered;
    await runner.stop();
    expect(texts(memory)).toEqual(['A']);
    expect(received).toMatchObject([{ waMessageId: 'A' }]);
  });

  it('goes through the journal when the inbox does not take it, and no key is lost', async () => {
    const { arrive, next, stanza, received, store, runner } = await direct();
    store.isInboxDown = true;
    const delivered = next('received');
    arrive(await stanza('A'));
    await delivered;
    await runner.stop();
    expect(received.map(({ text }) => text)).toEqual(['A']);
  });

  it('goes through the journal when WhatsApp had queued it, so that a process it ends leaves a trace', async () => {
    const { arrive, next, stanza, received, memory, runner } = await direct();
    const node = await stanza('A');
    const delivered = next('received');
    arrive({ ...node, attrs: { ...node.attrs, offline: '1' } });
    await delivered;
    await runner.stop();
    expect(received.map(({ text }) => text)).toEqual(['A']);
    expect(texts(memory)).toEqual([]);
  });

  it('waits behind an earlier one of its chat, and those of other chats do not', async () => {
    const { arrive, next, stanza, received, said, runner } = await direct();
    const [lost, behind, other] = [await stanza('A'), await stanza('B'), await stanza('C', undefined, BO)];
    damage(lost);
    const stored = next('stored');
    for (const node of [lost, behind, other]) arrive(node);
    await stored;
    expect(said).toContain('stored C');
    expect(said).not.toContain('stored B');
    expect(received).toEqual([]);
    await runner.stop();
  });
});

it.each([
  ['is delivered', 'received', delivering],
  ['begins its turn', 'stored', direct],
] as const)('a message %s outside the asynchronous context of the commit', async (_, event, open) => {
  const { arrive, next, stanza, store, auth, state, runner } = await open();
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  state.receive = async () => void seen.push(context.getStore());
  state.onStored = () => void seen.push(context.getStore());
  const node = await stanza('A');
  let release: () => void = () => undefined;
  store.gate = new Promise((resolve) => {
    release = resolve;
  });
  // A send of another chat, inside a workflow's step, starts the commit.
  await context.run('a step', () => auth.keys.set({ 'lid-mapping': { a: '1' } }));
  const done = next(event);
  arrive(node);
  // The commit that follows, with the message, ends in the context of the first.
  while (auth.commits.appended < 2) await new Promise((resolve) => setImmediate(resolve));
  release();
  await done;
  expect(seen).toEqual([undefined]);
  await runner.stop();
});

describe('a stanza that is not an ordinary message', () => {
  it.each([
    ['a peer message', { category: 'peer' }, 'pkmsg'],
    ['a status', { from: 'status@broadcast', participant: ANA }, 'skmsg'],
    ['a newsletter', { from: '120363000000000001@newsletter' }, 'plaintext'],
    ['a bot message', {}, 'msmsg'],
  ])('is given to Baileys: %s', async (_, attrs, type) => {
    const { connect, arrive, next, said, runner } = await setup();
    connect();
    const given = next('baileys');
    arrive({
      tag: 'message',
      attrs: { id: 'A', from: ANA, t: '1700000000', ...attrs },
      content: [{ tag: 'enc', attrs: { type }, content: Buffer.from('x') }],
    });
    await given;
    expect(said).toEqual(['baileys A']);
    await runner.stop();
  });

  it.each(['view_once', 'view_once_unavailable_fanout'])(
    'is stored although it has no content: a file that can be seen once (%s)',
    async (type) => {
      const { connect, arrive, next, received, runner } = await setup();
      connect();
      const given = next('baileys');
      const unavailable = { tag: 'unavailable', attrs: { type } };
      arrive({
        tag: 'message',
        attrs: { id: 'A', from: ANA, t: '1700000000' },
        content: [unavailable],
      });
      await given;
      // The type by which Baileys reports the message.
      expect(unavailable.attrs.type).toBe('view_once');
      const done = next('received');
      const key = { remoteJid: ANA, id: 'A', fromMe: false, isViewOnce: true };
      runner.upserted({ key, messageTimestamp: Date.now() / 1_000 } as WAMessage, 'notify');
      await done;
      await runner.stop();
      expect(received).toMatchObject([{ kind: 'other', text: '' }]);
      expect(received[0]).not.toHaveProperty('ignoredReason');
    },
  );

  it('is delivered when Baileys reports it, and an announced message when its content comes', async () => {
    const { connect, arrive, next, received, runner } = await setup();
    connect();
    const given = next('baileys');
    arrive({
      tag: 'message',
      attrs: { id: 'A', from: ANA, t: '1700000000' },
      content: [{ tag: 'unavailable', attrs: {} }],
    });
    await given;
    const done = next('received');
    const key = { remoteJid: ANA, id: 'A', fromMe: false };
    const message = {
      key,
      message: { conversation: 'from the phone' },
      messageTimestamp: Date.now() / 1_000,
    };
    runner.upserted(proto.WebMessageInfo.fromObject(message) as WAMessage, 'notify');
    runner.upserted(proto.WebMessageInfo.fromObject(message) as WAMessage, 'notify');
    await done;
    await runner.stop();
    expect(texts(received)).toEqual(['from the phone']);
  });
});

describe('the journal of an earlier process', () => {
  it.each([
    ['none of its messages', 'ABC'],
    ['not its oldest message', 'A'],
  ])('is delivered in stanza order before anything else (core took %s)', async (_, failing) => {
    const first = await setup();
    first.state.receive = async ({ text }) => {
      if (failing.includes(text)) throw new StorageUnavailableError({ sentence: 'no database' });
    };
    first.connect();
    for (const id of ['A', 'B', 'C']) {
      const receipt = first.next('receipt');
      first.arrive(await first.stanza(id));
      await receipt;
    }
    await first.runner.stop();
    expect(texts(first.received)).toEqual([]);
    const second = await setup({ journal: first.journal });
    await second.runner.stop();
    expect(texts(second.received)).toEqual(['A', 'B', 'C']);
  });

  it('does not deliver again what core is done with, and drops its rows', async () => {
    const first = await setup();
    first.connect();
    for (const id of ['A', 'B']) {
      const received = first.next('received');
      first.arrive(await first.stanza(id));
      await received;
    }
    await first.runner.stop();
    const rows = await pending(first.journal);
    expect(rows).toHaveLength(2);
    const pendingOnce = vi.spyOn(first.journal, 'pending');
    pendingOnce.mockResolvedValueOnce(
      rows.map((row) => (row.waMessageId === 'A' ? { ...row, isDone: true as const } : row)),
    );
    const second = await setup({ journal: first.journal });
    await second.runner.stop();
    expect(texts(second.received)).toEqual(['B']);
    expect(second.log.lines.find(({ message }) => message === 'journal replayed')).toMatchObject({
      fields: { messages: 1, openSlots: 0 },
    });
  });

  it('handles rows one at a time during which a process ended, and records one that ended four as undecryptable', async () => {
    const busy = new Set<string>();
    const receive = async ({ text }: InboundMessage) => {
      busy.add(text);
      if (text === 'B') await new Promise(() => undefined);
    };
    const first = await setup({ receive });
    first.connect();
    for (const id of ['A', 'B', 'C']) {
      const receipt = first.next('receipt');
      first.arrive(await first.stanza(id, undefined, `3460000000${id.charCodeAt(0)}@s.whatsapp.net`));
      await receipt;
    }
    await expect.poll(() => busy.size).toBe(3);
    const { journal } = first;
    for (const ends of [1, 2, 3]) {
      busy.clear();
      journal.countEnd('main');
      await setup({ journal, receive });
      await expect.poll(() => [...busy]).toEqual(['A', 'B']);
      const suspicions = (await pending(journal)).map(({ suspicion }) => suspicion);
      expect(suspicions).toEqual([1, ends, 1]);
    }
    journal.countEnd('main');
    const last = await setup({ journal });
    await last.runner.stop();
    expect(last.received.map(({ kind, waMessageId }) => [kind, waMessageId])).toEqual([
      ['text', 'A'],
      ['undecryptable', 'B:undecryptable'],
      ['text', 'C'],
    ]);
  });

  it('reports rows that cannot be read, with the chat where it is known', async () => {
    const journal = new MemoryJournal();
    const row = (id: string, stanza: string) => ({
      ciphertextHash: id,
      stanzaOrder: BigInt(id.charCodeAt(0)),
      waMessageId: id,
      plaintext: Buffer.from('noise'),
      stanza: Buffer.from(stanza),
    });
    journal.add('main', [
      row('A', '{"attrs":'),
      row('B', JSON.stringify({ attrs: { id: 'B', from: ANA, t: '1' } })),
    ]);
    const { runner, received, state } = await setup({ journal });
    await runner.stop();
    expect(state.unreadable).toEqual(['A']);
    expect(received.map(({ kind, waMessageId }) => [kind, waMessageId])).toEqual([
      ['undecryptable', 'B:undecryptable'],
    ]);
  });
});

it('passes messages of the own phone to Baileys', async () => {
  const { connect, arrive, next, stanza, said, received, runner } = await setup();
  connect();
  const node = await stanza('A', {
    deviceSentMessage: { destinationJid: ANA, message: { conversation: 'from my phone' } },
  });
  Object.assign(node.attrs, { from: '34600000001@s.whatsapp.net', recipient: ANA });
  const both = Promise.all([next('received'), next('receipt')]);
  arrive(node);
  await both;
  expect(said).toContain('show A');
  expect(received[0]).toMatchObject({ text: 'from my phone', ignoredReason: 'own-message' });
  await runner.stop();
});

/** Text that peers may put anywhere. */
const anyPart = fc.oneof(
  fc.constantFrom(
    ANA,
    ME,
    '120363000000000001@g.us',
    '900000000000002@lid',
    'a\0b@g.us',
    '@lid',
    'status@broadcast',
  ),
  fc.constantFrom('', '\ud800', '__proto__', 'x'.repeat(100_000), '1700000000', '-1', '1e300', 'NaN'),
  anyText(40),
);
const ADDRESSES = [
  'from',
  'participant',
  'recipient',
  'sender_pn',
  'sender_lid',
  'participant_pn',
  'participant_lid',
];
const OTHERS = [
  't',
  'notify',
  'category',
  'offline',
  'addressing_mode',
  'edit',
  'recipient_pn',
  'peer_recipient_lid',
];
const anyAttrs = fc
  .uniqueArray(fc.constantFrom(...ADDRESSES, ...OTHERS), { maxLength: 8 })
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, anyPart]))));
const anyPartNode = fc.record({
  tag: fc.constantFrom('enc', 'enc', 'enc', 'verified_name', 'unavailable', 'plaintext', 'meta'),
  type: fc.constantFrom('msg', 'pkmsg', 'skmsg', 'msmsg', 'x'),
  content: fc.uint8Array({ maxLength: 60 }),
});

/** Bytes of protobuf fields with any numbers, nested: most of them are fields of a message. */
const anyFields: fc.Arbitrary<Uint8Array> = fc.letrec<{ fields: Uint8Array }>((tie) => ({
  fields: fc
    .array(
      fc.tuple(
        fc.integer({ min: 1, max: 120 }),
        fc.oneof(
          { depthSize: 'small' },
          anyPart.map((text) => Buffer.from(text.slice(0, 2_000))),
          tie('fields'),
        ),
      ),
      { maxLength: 4 },
    )
    .map((fields) => {
      const writer = proto.Message.encode({}) as unknown as ProtobufWriter;
      for (const [number, bytes] of fields) writer.uint32(number * 8 + 2).bytes(bytes);
      return writer.finish();
    }),
})).fields;

interface ProtobufWriter {
  uint32(value: number): ProtobufWriter;
  bytes(value: Uint8Array): ProtobufWriter;
  finish(): Uint8Array;
}

describe('any stanza', () => {
  it('is acknowledged, refused, requested again or passed to Baileys, and the next message is answered', async () => {
    const { connect, arrive, next, stanza, received, said, runner } = await setup();
    connect();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(anyAttrs, fc.array(anyPartNode, { maxLength: 3 }), async (attrs, parts) => {
        count += 1;
        const id = `F${count}`;
        const content = parts.map(({ tag, type, content }) => ({ tag, attrs: { type }, content }));
        arrive({ tag: 'message', attrs: { from: ANA, t: '1700000000', ...attrs, id }, content });
        arrive(await stanza(`N${count}`, undefined, BO));
        while (!received.some(({ waMessageId }) => waMessageId === `N${count}`)) await next('received');
        while (!said.some((what) => what.split(/[ ,]/).includes(id))) {
          await new Promise((resolve) => setImmediate(resolve));
        }
      }),
      runs(60),
    );
    await runner.stop();
  });

  it('of any content is acknowledged or requested again, and the next message is answered', async () => {
    const { connect, arrive, next, stanza, received, said, runner } = await setup();
    connect();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(anyFields, async (bytes) => {
        count += 1;
        const encode = proto.Message.encode;
        const content = { encoded: bytes } as unknown as proto.IMessage;
        vi.spyOn(proto.Message, 'encode').mockImplementation((message, writer) =>
          message === content
            ? ({ finish: () => bytes } as ReturnType<typeof encode>)
            : encode(message, writer),
        );
        const any = await stanza(`F${count}`, content);
        vi.restoreAllMocks();
        arrive(any);
        arrive(await stanza(`N${count}`, undefined, BO));
        while (!received.some(({ waMessageId }) => waMessageId === `N${count}`)) await next('received');
        while (!said.some((what) => what.split(/[ ,]/).includes(`F${count}`))) {
          await new Promise((resolve) => setImmediate(resolve));
        }
      }),
      runs(60),
    );
    await runner.stop();
  });
});
