import {
  addTransactionCapability,
  DEFAULT_CONNECTION_CONFIG,
  generateSignalPubKey,
  type SignalRepositoryWithLIDStore,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEntry } from '../../../../../router/src/core/ports/journal.ts';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { guardConsole } from '../../../../../router/src/providers/baileys/connection/console-guard.ts';
import { AheadDecryption } from '../../../../../router/src/providers/baileys/signal/ahead-decryption.ts';
import {
  type AuthState,
  openAuthState,
} from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { KeyedLock } from '../../../../../router/src/providers/baileys/signal/keyed-lock.ts';
import { SendScopes } from '../../../../../router/src/providers/baileys/signal/send-scope.ts';
import {
  createSignalRepository,
  type DecryptHooks,
} from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { SignalPeer } from '../../../../whatsapp-emulator/signal-peer.ts';

const ANA = '34600000002@s.whatsapp.net';
const ME = '34600000001:1@s.whatsapp.net';
const logger = pino({ level: 'silent' });

/** A store whose commits take one to five turns of the event loop, as a database's take longer and shorter. */
class SlowStore extends MemoryKeyStore {
  #commits = 0;

  override async commit(scope: KeyScope, change: KeyChange): Promise<void> {
    this.#commits += 7;
    for (let turn = 0; turn <= this.#commits % 5; turn++) await turnOfTheLoop();
    await super.commit(scope, change);
  }
}

/** A padded `conversation: "hi"`. */
const HI = Buffer.from([10, 2, 104, 105, 1]);

/** libsignal orders sessions by the millisecond of their last use. */
async function turnOfTheClock(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await turnOfTheLoop();
}

const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

type Transacting = ReturnType<typeof addTransactionCapability>;

/** One side of a conversation made of Baileys' parts: the account, with or without our wrapping. */
interface Account {
  repository: SignalRepositoryWithLIDStore;
  keys: Transacting;
  auth: AuthState;
}

let journal: MemoryJournal;
let store: SlowStore;
let journalled: JournalEntry[];
let failed: unknown[];
let recalls: number;
/** What is known without asking the journal. */
let atHand: Map<string, JournalEntry>;
let asked: string[][];
let release: () => void;
let ahead: AheadDecryption;

beforeEach(() => {
  journal = new MemoryJournal();
  store = new SlowStore(journal);
  journalled = [];
  failed = [];
  recalls = 0;
  atHand = new Map();
  asked = [];
  ahead = new AheadDecryption();
  release = guardConsole(recordingLog());
});
afterEach(() => release());

const hooks: DecryptHooks = {
  turn: async () => undefined,
  begun: () => undefined,
  entryFor: (ciphertext) => ({
    ciphertextHash: Buffer.from(ciphertext).toString('base64'),
    stanzaOrder: 1n,
    waMessageId: 'A',
    stanza: new Uint8Array(),
  }),
  decrypted: async (_, entry) => {
    journalled.push(entry);
  },
  taken: () => undefined,
  remembered: (hash) => atHand.get(hash),
  recall: async (hash) => {
    recalls += 1;
    return journal.find('main', hash);
  },
  failed: (_, error) => failed.push(error),
};

async function openAccount(isWrapped: boolean): Promise<Account> {
  const auth = await openAuthState({
    store,
    scope: { accountId: 'main', generation: 1 },
    clock: systemClock,
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });
  const keys = addTransactionCapability(auth.keys, logger, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
  const state = { creds: auth.creds, keys };
  const ask = async (jids: string[]) => {
    asked.push(jids);
    return [];
  };
  const absent = new Set<string>();
  const repository = isWrapped
    ? createSignalRepository(
        {
          hooks,
          ahead,
          queue: { begun: () => undefined },
          sends: new SendScopes(() => false),
          locks: new KeyedLock(),
          withoutLid: absent,
        },
        state,
        logger,
        ask,
      )
    : DEFAULT_CONNECTION_CONFIG.makeSignalRepository(state, logger, ask);
  return { repository, keys, auth };
}

/** Ana's phone writes; the first message opens the session. */
async function anaWrites(peer: SignalPeer, account: Account, text: string) {
  return peer.encryptFor(ME, { conversation: text }, () => bundleOf(account));
}

/** What opens a session with the account; without a one-time key. */
function bundleOf({ auth: { creds } }: Account) {
  return {
    registrationId: creds.registrationId,
    identityKey: generateSignalPubKey(creds.signedIdentityKey.public),
    signedPreKey: {
      keyId: creds.signedPreKey.keyId,
      publicKey: generateSignalPubKey(creds.signedPreKey.keyPair.public),
      signature: creds.signedPreKey.signature,
    },
  };
}

async function accountReads(account: Account, message: { type: 'pkmsg' | 'msg'; bytes: Uint8Array }) {
  return account.repository.decryptMessage({ jid: ANA, type: message.type, ciphertext: message.bytes });
}

/** As Baileys' relayMessage: everything in a transaction of the own account, the bytes written before it commits. */
async function accountWrites(
  account: Account,
  write: (bytes: { type: 'pkmsg' | 'msg'; ciphertext: Uint8Array }) => void,
) {
  await account.keys.transaction(async () => {
    await account.repository.validateSession(ANA);
    write(await account.repository.encryptMessage({ jid: ANA, data: HI }));
    await turnOfTheLoop();
  }, ME);
}

/** A burst from one person, each message answered at once; how many messages either side could not read. */
async function burst(isWrapped: boolean, rounds: number): Promise<number> {
  const account = await openAccount(isWrapped);
  const peer = new SignalPeer('34600000002');
  let unread = 0;
  const count = () => {
    unread += 1;
  };
  await accountReads(account, await anaWrites(peer, account, 'hello'));
  const underWay: Array<Promise<unknown>> = [];
  for (let round = 0; round < rounds; round++) {
    const message = await anaWrites(peer, account, `message ${round}`);
    underWay.push(accountReads(account, message).catch(count));
    const answer = accountWrites(account, ({ type, ciphertext }) => {
      underWay.push(peer.decryptFrom(ME, type, ciphertext).catch(count));
    });
    underWay.push(answer.catch(count));
    if (round % 3 === 2) await Promise.all(underWay);
  }
  while (underWay.length > 0) await underWay.shift();
  return unread;
}

describe('a burst from one person, each message answered', () => {
  it('breaks the session of a bare Baileys', async () => {
    expect(await burst(false, 40)).toBeGreaterThan(0);
  });

  it('is read to the last message on both sides', async () => {
    expect(await burst(true, 40)).toBe(0);
  });
});

describe('a ratchet step', () => {
  it('is durable before the ciphertext that it made is used', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    let atWrite: string | undefined;
    await accountWrites(account, () => {
      atWrite = undefined;
      void store.read({ accountId: 'main', generation: 1 }, 'session', ['34600000002.0']).then((found) => {
        atWrite = found.get('34600000002.0');
      });
    });
    const after = await store.read({ accountId: 'main', generation: 1 }, 'session', ['34600000002.0']);
    expect(atWrite).toBeDefined();
    expect(atWrite).toBe(after.get('34600000002.0'));
  });

  it('is durable together with the plaintext that it gave', async () => {
    const commits: KeyChange[] = [];
    const commit = store.commit.bind(store);
    store.commit = async (scope, change) => {
      commits.push(change);
      await commit(scope, change);
    };
    const account = await openAccount(true);
    await accountReads(account, await anaWrites(new SignalPeer('34600000002'), account, 'hello'));
    const withJournal = commits.filter((change) => change.journal.length > 0);
    expect(withJournal).toHaveLength(1);
    expect(withJournal[0]?.puts.map((put) => put.category)).toContain('session');
    expect(journalled).toHaveLength(1);
  });

  it('that could not be stored gives no plaintext, and the stanza decrypts when it comes again', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    const message = await anaWrites(peer, account, 'again');
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error('no database'));
    await expect(accountReads(account, message)).rejects.toThrow('no database');
    store.commit = commit;
    await account.auth.prepare();
    await expect(accountReads(account, message)).resolves.toBeInstanceOf(Uint8Array);
  });
});

describe('a stanza that comes again', () => {
  it('is answered from the journal when its key is spent, first message and later ones', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    const first = await anaWrites(peer, account, 'hello');
    const plaintext = await accountReads(account, first);
    expect(Buffer.from(await accountReads(account, first))).toEqual(Buffer.from(plaintext));
    expect([recalls, failed.length]).toEqual([1, 0]);
  });

  it('is not tried with keys again while what it said is at hand', async () => {
    const account = await openAccount(true);
    const first = await anaWrites(new SignalPeer('34600000002'), account, 'hello');
    const plaintext = await accountReads(account, first);
    for (const entry of journalled) atHand.set(entry.ciphertextHash, entry);
    const commits = vi.spyOn(store, 'commit');
    const tries = vi.spyOn(account.keys, 'transaction');
    expect(Buffer.from(await accountReads(account, first))).toEqual(Buffer.from(plaintext));
    expect([tries.mock.calls.length, commits.mock.calls.length, recalls]).toEqual([0, 0, 0]);
    expect(journalled).toHaveLength(2);
  });

  it('is no more readable than before without a journal entry', async () => {
    const account = await openAccount(true);
    const first = await anaWrites(new SignalPeer('34600000002'), account, 'hello');
    await accountReads(account, first);
    await journal.forget('main', [Buffer.from(first.bytes).toString('base64')]);
    await expect(accountReads(account, first)).rejects.toThrow();
    expect(failed).toHaveLength(1);
  });
});

describe('a person with two sessions', () => {
  /** Each of the two was answered, so that its next message has a new ratchet key. */
  async function twoSessions(account: Account): Promise<[SignalPeer, SignalPeer]> {
    const older = new SignalPeer('34600000002');
    const newer = new SignalPeer('34600000002', older.identity);
    for (const peer of [older, newer]) {
      await accountReads(account, await anaWrites(peer, account, 'hello'));
      const answers: Array<Promise<unknown>> = [];
      await accountWrites(account, ({ type, ciphertext }) => {
        answers.push(peer.decryptFrom(ME, type, ciphertext));
      });
      await Promise.all(answers);
    }
    return [older, newer];
  }

  /** What was under way in the older session comes between two messages of the newer one. */
  async function readInterleaved(isWrapped: boolean): Promise<void> {
    const account = await openAccount(isWrapped);
    const [older, newer] = await twoSessions(account);
    for (const peer of [older, newer, older, newer]) {
      await accountReads(account, await anaWrites(peer, account, 'still there?'));
    }
  }

  it('is not understood any more by a bare Baileys after a late message of the older one', async () => {
    await expect(readInterleaved(false)).rejects.toThrow('No matching sessions');
  });

  it('is read in both', async () => {
    await expect(readInterleaved(true)).resolves.toBeUndefined();
  });

  it('keeps both as they were when a message is of neither', async () => {
    const account = await openAccount(true);
    const [older, newer] = await twoSessions(account);
    const scope = { accountId: 'main', generation: 1 };
    const before = (await store.read(scope, 'session', ['34600000002.0'])).get('34600000002.0');
    const { bytes } = await anaWrites(older, account, 'spoilt');
    const spoilt = Buffer.from(bytes);
    spoilt.writeUInt8(spoilt.readUInt8(spoilt.length - 12) ^ 1, spoilt.length - 12);
    await expect(accountReads(account, { type: 'msg', bytes: spoilt })).rejects.toThrow();
    expect((await store.read(scope, 'session', ['34600000002.0'])).get('34600000002.0')).toBe(before);
    for (const peer of [newer, older]) await accountReads(account, await anaWrites(peer, account, 'fine'));
  });
});

describe('a late message of an old session', () => {
  /** Ana's phone starts anew while a message of the old session is still under way; can she read the next answer? */
  async function answerAfterLateMessage(isWrapped: boolean): Promise<string> {
    const account = await openAccount(isWrapped);
    const peer = new SignalPeer('34600000002');
    const answer = async () => {
      const { type, ciphertext } = await account.repository.encryptMessage({ jid: ANA, data: HI });
      return peer.decryptFrom(ME, type, ciphertext).then(
        () => 'read',
        () => 'unread',
      );
    };
    await accountReads(account, await anaWrites(peer, account, 'old session'));
    await answer();
    const late = await anaWrites(peer, account, 'late');
    await peer.openSession(ME, bundleOf(account));
    await accountReads(account, await anaWrites(peer, account, 'new session'));
    await turnOfTheClock();
    await accountReads(account, late);
    return answer();
  }

  it('breaks the new session of a bare Baileys', async () => {
    expect(await answerAfterLateMessage(false)).toBe('unread');
  });

  it('leaves the new session as it was', async () => {
    expect(await answerAfterLateMessage(true)).toBe('read');
  });
});

describe('a session of many turns', () => {
  it('stays as small as it was', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    const size = async () => {
      const found = await store.read({ accountId: 'main', generation: 1 }, 'session', ['34600000002.0']);
      return found.get('34600000002.0')?.length ?? 0;
    };
    const turn = async () => {
      await accountReads(account, await anaWrites(peer, account, 'x'));
      const { type, ciphertext } = await account.repository.encryptMessage({
        jid: ANA,
        data: HI,
      });
      await peer.decryptFrom(ME, type, ciphertext);
    };
    for (let round = 0; round < 5; round++) await turn();
    const early = await size();
    for (let round = 0; round < 60; round++) await turn();
    expect(await size()).toBeLessThan(early * 1.2);
  });
});

it('asks WhatsApp once for the LID of a number that has none', async () => {
  const account = await openAccount(true);
  const peer = new SignalPeer('34600000002');
  for (let round = 0; round < 5; round++) await accountReads(account, await anaWrites(peer, account, 'x'));
  expect(asked).toEqual([[ANA]]);
});
