import {
  addTransactionCapability,
  DEFAULT_CONNECTION_CONFIG,
  generateSignalPubKey,
  type SignalRepositoryWithLIDStore,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../../../router/src/core/ports/inbox.ts';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { guardConsole } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import {
  type AuthState,
  openAuthState,
} from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import {
  type AccountSignal,
  createAccountSignal,
} from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { SignalPeer } from '../../../../whatsapp-emulator/signal-peer.ts';
import { SenderKeys } from '../../../../whatsapp-emulator/signal-sender-keys.ts';

type StanzaAddresses = Parameters<AccountSignal['decryptor']>[1];

const ANA = '34600000002@s.whatsapp.net';
const ME = '34600000001:1@s.whatsapp.net';
const scope = { accountId: 'main', generation: 1 };
const logger = pino({ level: 'silent' });
const ENTRY: Omit<JournalEntry, 'plaintext'> = {
  ciphertextHash: 'h',
  stanzaOrder: 1n,
  waMessageId: 'A',
  stanza: new Uint8Array(),
};

/** A store whose commits take one to five turns of the event loop, like the varying times of a database. */
class SlowStore extends MemoryKeyStore {
  #commits = 0;

  override async commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    this.#commits += 7;
    for (let turn = 0; turn <= this.#commits % 5; turn++) await turnOfTheLoop();
    return super.commit(scope, change);
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

/** A stanza of a chat with a person that names one address. */
function from(author: string): StanzaAddresses {
  return { chatJid: author, author, pair: undefined, recipientPair: undefined };
}

/** One side of a conversation built from parts of Baileys: the account, with wa2ai's Signal steps or plain Baileys. */
interface Account {
  repository: SignalRepositoryWithLIDStore;
  auth: AuthState;
  /** As Baileys decrypts a message's part, and stores its plaintext. */
  read(type: 'pkmsg' | 'msg', ciphertext: Uint8Array): Promise<Uint8Array>;
  /** As Baileys' relayMessage: everything in a transaction of the own account. */
  inTransaction(work: () => Promise<void>): Promise<void>;
}

let journal: MemoryJournal;
let store: SlowStore;
let asked: string[][];
let release: () => void;

beforeEach(() => {
  journal = new MemoryJournal();
  store = new SlowStore(journal);
  asked = [];
  release = guardConsole(recordingLog());
});
afterEach(() => release());

async function openAccount(isWrapped: boolean): Promise<Account> {
  const auth = await openAuthState({
    store,
    scope,
    // A failed commit is repeated at once.
    clock: { ...systemClock, sleep: async () => undefined },
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });
  const ask = async (jids: string[]) => {
    asked.push(jids);
    return [];
  };
  if (isWrapped) {
    const signal = createAccountSignal(auth.steps, auth.creds, logger, ask, new Set<string>());
    return {
      auth,
      repository: signal.repository,
      inTransaction: (work) => work(),
      read: async (type, ciphertext) => {
        const { result } = await auth.steps.run(async (unit) => {
          const { repository } = await signal.decryptor(unit, from(ANA));
          const plaintext = await repository.decryptMessage({ jid: ANA, type, ciphertext });
          unit.journal = { ...ENTRY, plaintext };
          return plaintext;
        });
        return result;
      },
    };
  }
  const keys = addTransactionCapability(auth.keys, logger, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
  const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds: auth.creds, keys }, logger, ask);
  return {
    auth,
    repository,
    inTransaction: (work) => keys.transaction(work, ME),
    read: (type, ciphertext) => repository.decryptMessage({ jid: ANA, type, ciphertext }),
  };
}

async function storedSession(): Promise<string | undefined> {
  const [found] = await store.read(scope, [{ category: 'session', keyId: '34600000002.0' }]);
  return found?.value;
}

/** Ana's phone writes; the first message opens the session. */
async function anaWrites(peer: SignalPeer, account: Account, text: string) {
  return peer.encryptFor(ME, { conversation: text }, () => bundleOf(account));
}

/** The bundle for a session with the account, without a one-time key. */
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
  return account.read(message.type, message.bytes);
}

async function accountWrites(
  account: Account,
  write: (bytes: { type: 'pkmsg' | 'msg'; ciphertext: Uint8Array }) => void,
) {
  await account.inTransaction(async () => {
    await account.repository.validateSession(ANA);
    write(await account.repository.encryptMessage({ jid: ANA, data: HI }));
    await turnOfTheLoop();
  });
}

/** A burst from one person, each message answered at once; returns the number of messages that either side could not decrypt. */
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
  it('breaks the session of plain Baileys', async () => {
    expect(await burst(false, 40)).toBeGreaterThan(0);
  });

  it('is decrypted completely on both sides', async () => {
    expect(await burst(true, 40)).toBe(0);
  });
});

describe('a Signal step', () => {
  it('is durable together with its plaintext, in one commit', async () => {
    const commits: KeyChange[] = [];
    const commit = store.commit.bind(store);
    store.commit = async (at, change) => {
      commits.push(change);
      return commit(at, change);
    };
    const account = await openAccount(true);
    await accountReads(account, await anaWrites(new SignalPeer('34600000002'), account, 'hello'));
    await account.auth.commits.flush();
    expect(commits).toHaveLength(1);
    expect(commits[0]?.puts.map((put) => put.category)).toContain('session');
    expect(commits[0]?.journal).toHaveLength(1);
  });

  it('whose commit failed is void, and the redelivered stanza is decrypted', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    await account.auth.commits.flush();
    const message = await anaWrites(peer, account, 'again');
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error('no database'));
    await accountReads(account, message);
    await expect(account.auth.commits.flush()).rejects.toThrow('no database');
    await expect(accountReads(account, message)).rejects.toThrow('no database');
    store.commit = commit;
    await account.auth.prepare();
    await expect(accountReads(account, message)).resolves.toBeInstanceOf(Uint8Array);
  });

  it('decrypts nothing twice', async () => {
    const account = await openAccount(true);
    const first = await anaWrites(new SignalPeer('34600000002'), account, 'hello');
    await accountReads(account, first);
    await expect(accountReads(account, first)).rejects.toThrow();
  });
});

describe('a person with two sessions', () => {
  /** Each of the two was answered, so its next message has a new ratchet key. */
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

  /** A late message of the older session arrives between two messages of the newer one. */
  async function readInterleaved(isWrapped: boolean): Promise<void> {
    const account = await openAccount(isWrapped);
    const [older, newer] = await twoSessions(account);
    for (const peer of [older, newer, older, newer]) {
      await accountReads(account, await anaWrites(peer, account, 'still there?'));
    }
  }

  it('cannot be decrypted by plain Baileys after a late message of the older one', async () => {
    await expect(readInterleaved(false)).rejects.toThrow('No matching sessions');
  });

  it('is decrypted in both', async () => {
    await expect(readInterleaved(true)).resolves.toBeUndefined();
  });

  it('keeps both unchanged when a message belongs to neither', async () => {
    const account = await openAccount(true);
    const [older, newer] = await twoSessions(account);
    await account.auth.commits.flush();
    const before = await storedSession();
    const { bytes } = await anaWrites(older, account, 'corrupted');
    const corrupted = Buffer.from(bytes);
    corrupted.writeUInt8(corrupted.readUInt8(corrupted.length - 12) ^ 1, corrupted.length - 12);
    await expect(accountReads(account, { type: 'msg', bytes: corrupted })).rejects.toThrow();
    await account.auth.commits.flush();
    expect(await storedSession()).toBe(before);
    for (const peer of [newer, older]) await accountReads(account, await anaWrites(peer, account, 'fine'));
  });
});

describe('a late message of an old session', () => {
  /** Ana's phone opens a new session while a message of the old one is in transit; returns whether she can decrypt the next reply. */
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

  it('breaks the new session of plain Baileys', async () => {
    expect(await answerAfterLateMessage(false)).toBe('unread');
  });

  it('leaves the new session unchanged', async () => {
    expect(await answerAfterLateMessage(true)).toBe('read');
  });
});

describe('the position of a sending chain', () => {
  /** As the write gate: the message leaves when everything that was appended is durable. */
  async function send(account: Account, peer: SignalPeer): Promise<void> {
    const { type, ciphertext } = await account.repository.encryptMessage({ jid: ANA, data: HI });
    await account.auth.commits.flush();
    await peer.decryptFrom(ME, type, ciphertext);
  }

  it('needs no commit for the first replies to a message', async () => {
    const account = await openAccount(true);
    const { commits } = account.auth;
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    await commits.flush();
    const before = commits.appended;
    for (let reply = 1; reply <= 8; reply++) await send(account, peer);
    expect(commits.appended).toBe(before);
    await send(account, peer);
    expect(commits.appended).toBe(before + 1);
    for (let reply = 1; reply <= 32; reply++) await send(account, peer);
    expect(commits.appended).toBe(before + 1);
  });

  it('is never used twice, however many messages a process sent before it was killed', async () => {
    const peer = new SignalPeer('34600000002');
    const account = await openAccount(true);
    account.auth.saveCreds();
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    await account.auth.commits.flush();
    for (const sent of [0, 1, 7, 8, 9, 1, 40, 41, 42, 0]) {
      const killed = await openAccount(true);
      // A repeated message key would make `decryptFrom` reject.
      for (let message = 0; message < sent; message++) await send(killed, peer);
    }
    const last = await openAccount(true);
    await send(last, peer);
    await accountReads(last, await anaWrites(peer, last, 'a new chain'));
    await send(last, peer);
  });

  it('is not used twice after a failed commit', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    await account.auth.commits.flush();
    for (let message = 0; message < 5; message++) await send(account, peer);
    const question = await anaWrites(peer, account, 'again');
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error('no database'));
    await accountReads(account, question);
    await expect(account.auth.commits.flush()).rejects.toThrow('no database');
    store.commit = commit;
    await account.auth.prepare();
    await send(account, peer);
    await accountReads(account, question);
    await send(account, peer);
  });
});

describe('a long session', () => {
  it('does not grow', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    const size = async () => {
      await account.auth.commits.flush();
      return (await storedSession())?.length ?? 0;
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

describe('the LID of a number', () => {
  it('is queried once when there is none, and never for an incoming message', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    for (let round = 0; round < 3; round++) await accountReads(account, await anaWrites(peer, account, 'x'));
    expect(asked).toEqual([]);
    for (let round = 0; round < 3; round++) {
      expect(await account.repository.lidMapping.getLIDForPN(ANA)).toBeNull();
    }
    expect(asked).toEqual([[ANA]]);
  });

  it('receives the sessions of the number', async () => {
    const account = await openAccount(true);
    const peer = new SignalPeer('34600000002');
    await accountReads(account, await anaWrites(peer, account, 'hello'));
    const lid = '900000000000002@lid';
    await account.repository.lidMapping.storeLIDPNMappings([{ pn: ANA, lid }]);
    expect(await account.repository.validateSession(lid)).toEqual({ exists: true });
    expect(await account.repository.lidMapping.getPNForLID(lid)).toBe('34600000002:0@s.whatsapp.net');
    await account.auth.commits.flush();
    expect(await storedSession()).toBeUndefined();
    await expect(accountReads(account, await anaWrites(peer, account, 'still here'))).resolves.toBeDefined();
  });
});

describe("a member's key of a group", () => {
  const GROUP = '120363000000000001@g.us';
  const learn = async (named: string, chatJid: string) => {
    const { auth } = await openAccount(true);
    const signal = createAccountSignal(auth.steps, auth.creds, logger, undefined, new Set<string>());
    const item = {
      groupId: named,
      axolotlSenderKeyDistributionMessage: await new SenderKeys().distribution(GROUP),
    };
    await auth.steps.step(async (unit) => {
      const { repository } = await signal.decryptor(unit, { ...from(ANA), chatJid });
      await repository.processSenderKeyDistributionMessage({ item, authorJid: ANA });
    });
    await signal.repository.processSenderKeyDistributionMessage({ item, authorJid: ANA });
    const has = (group: string) => signal.repository.hasSenderKey({ group, meId: ANA });
    return { named: await has(named), stanza: await has(chatJid) };
  };

  it('counts for the group of its stanza, whatever group it names', async () => {
    expect(await learn('120363000000000002@g.us', GROUP)).toEqual({ named: false, stanza: true });
    expect(await learn('a\u0000b@g.us', GROUP)).toEqual({ named: false, stanza: true });
  });

  it('counts for no group when it came in a chat with a person', async () => {
    expect(await learn(GROUP, ANA)).toEqual({ named: false, stanza: false });
  });
});
