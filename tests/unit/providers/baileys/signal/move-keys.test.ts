import { generateSignalPubKey, type SignalDataTypeMap } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../../../router/src/core/ports/inbox.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { guardConsole } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { openAuthState } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import {
  type AccountSignal,
  createAccountSignal,
} from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';
import { type DirectCiphertext, SignalPeer } from '../../../../whatsapp-emulator/signal-peer.ts';
import { SenderKeys } from '../../../../whatsapp-emulator/signal-sender-keys.ts';

const ME = '34600000001:1@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';
const scope = { accountId: 'main', generation: 1 };
const logger = pino({ level: 'silent' });

/** One person's device under both addresses. */
class Somebody {
  readonly pn: string;
  readonly lid: string;
  readonly #device: number;
  readonly number: string;

  constructor(number: string, device = 0) {
    this.number = number;
    this.#device = device;
    const suffix = device > 0 ? `:${device}` : '';
    this.pn = `${number}${suffix}@s.whatsapp.net`;
    this.lid = `9${number}${suffix}@lid`;
  }

  get pair() {
    return { pn: this.pn, lid: this.lid };
  }

  get pnAddress() {
    return `${this.number}.${this.#device}`;
  }

  get lidAddress() {
    return `9${this.number}_1.${this.#device}`;
  }
}

const ANA = new Somebody('34600000002');
const BEA = new Somebody('34600000003');

interface Stanza {
  from: string;
  /** The pair that the stanza names. */
  pair?: { pn: string; lid: string };
  group?: string;
}

let store: MemoryKeyStore;
let release: () => void;

beforeEach(() => {
  store = new MemoryKeyStore(new MemoryJournal());
  release = guardConsole(recordingLog());
});
afterEach(() => release());

async function openAccount() {
  const auth = await openAuthState({
    store,
    scope,
    clock: { ...systemClock, sleep: async () => undefined },
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });
  const signal = createAccountSignal(auth.steps, auth.creds, logger, undefined, new Set<string>());
  const { creds, steps, commits } = auth;
  const bundle = {
    registrationId: creds.registrationId,
    identityKey: generateSignalPubKey(creds.signedIdentityKey.public),
    signedPreKey: {
      keyId: creds.signedPreKey.keyId,
      publicKey: generateSignalPubKey(creds.signedPreKey.keyPair.public),
      signature: creds.signedPreKey.signature,
    },
  };
  const { repository } = signal;

  /** Decrypts in a step of a stanza, as InboundRunner does: what decrypts nothing changes nothing. */
  const read = async ({ from, pair, group }: Stanza, decrypt: Decrypt): Promise<void> => {
    const failure = await steps.step(async (unit) => {
      const decryptor = await signal.decryptor(unit, {
        chatJid: group ?? from,
        author: from,
        pair,
        recipientPair: undefined,
      });
      const jid = from.endsWith('@lid') ? from : await decryptor.repository.lidMapping.getLIDForPN(from);
      try {
        await decrypt(decryptor.repository, jid ?? from);
        unit.journal = ENTRY;
        return undefined;
      } catch (error) {
        decryptor.discard();
        return error;
      }
    });
    if (failure) throw failure;
  };

  return {
    auth,
    signal,
    repository,
    readDirect: (stanza: Stanza, { type, bytes }: DirectCiphertext) =>
      read(stanza, (inside, jid) => inside.decryptMessage({ jid, type, ciphertext: bytes })),
    readGroup: (stanza: Stanza, msg: Uint8Array) =>
      read({ group: GROUP, ...stanza }, (inside) =>
        inside.decryptGroupMessage({ group: GROUP, authorJid: stanza.from, msg }),
      ),
    /** A member's key of the group, in a stanza that was decrypted. */
    learnKey: (stanza: Stanza, key: Uint8Array) =>
      read({ group: GROUP, ...stanza }, async (inside) => {
        const item = { groupId: GROUP, axolotlSenderKeyDistributionMessage: key };
        await inside.processSenderKeyDistributionMessage({ item, authorJid: stanza.from });
      }),
    write: (peer: SignalPeer, text = 'hello') => peer.encryptFor(ME, { conversation: text }, () => bundle),
    answer: async (to: string, peer: SignalPeer) => {
      const { type, ciphertext } = await repository.encryptMessage({ jid: to, data: HI });
      await commits.flush();
      await peer.decryptFrom(ME, type, ciphertext);
    },
    async stored<T extends keyof SignalDataTypeMap>(category: T, keyId: string) {
      await commits.flush();
      return (await auth.accountKeys.get(category, [keyId]))[keyId];
    },
  };
}

type Account = Awaited<ReturnType<typeof openAccount>>;
type Decrypt = (repository: AccountSignal['repository'], jid: string) => Promise<unknown>;

const ENTRY: JournalEntry = {
  ciphertextHash: 'h',
  stanzaOrder: 1n,
  waMessageId: 'A',
  plaintext: new Uint8Array(),
  stanza: new Uint8Array(),
};

/** A padded `conversation: "hi"`. */
const HI = Buffer.from([10, 2, 104, 105, 1]);

/** The base keys of the sessions under an address. */
async function sessionsOf(account: Account, address: string): Promise<string[]> {
  const record = (await account.stored('session', address)) as { _sessions?: object } | undefined;
  return Object.keys(record?._sessions ?? {});
}

/**
 * A device with one session under the number and another one under the LID, of the time when no stanza named both. Each
 * was answered, so the next message is a `msg`.
 */
async function twoSessions(account: Account, somebody: Somebody) {
  const underNumber = new SignalPeer(somebody.number);
  const underLid = new SignalPeer(somebody.number, underNumber.identity);
  await account.readDirect({ from: somebody.pn }, await account.write(underNumber));
  await account.answer(somebody.pn, underNumber);
  await account.readDirect({ from: somebody.lid }, await account.write(underLid));
  await account.answer(somebody.lid, underLid);
  return { underNumber, underLid };
}

describe('a message that is encrypted with the session of the other address', () => {
  const directions = [
    ['number', 'LID', ANA.pn, ANA.lid],
    ['LID', 'number', ANA.lid, ANA.pn],
  ] as const;
  for (const [left, right, before, now] of directions) {
    it(`is decrypted when the only session is that of the ${left} and it comes from the ${right}`, async () => {
      const account = await openAccount();
      const peer = new SignalPeer(ANA.number);
      await account.readDirect({ from: before }, await account.write(peer));
      await account.answer(before, peer);
      await account.readDirect({ from: now, pair: ANA.pair }, await account.write(peer));
      await account.answer(now, peer);
    });

    it(`is decrypted when it comes from the ${right}, which has a session too`, async () => {
      const account = await openAccount();
      const { underNumber, underLid } = await twoSessions(account, ANA);
      const peer = left === 'number' ? underNumber : underLid;
      await account.readDirect({ from: now, pair: ANA.pair }, await account.write(peer));
      // The phone has this session only.
      await account.answer(now, peer);
      expect(await sessionsOf(account, ANA.pnAddress)).toEqual([]);
      expect(await sessionsOf(account, ANA.lidAddress)).toHaveLength(2);
    });
  }

  it('is decrypted when it still has the form of a first message, and is used for the answer', async () => {
    const account = await openAccount();
    const underNumber = new SignalPeer(ANA.number);
    const underLid = new SignalPeer(ANA.number, underNumber.identity);
    await account.readDirect({ from: ANA.pn }, await account.write(underNumber));
    await account.readDirect({ from: ANA.lid }, await account.write(underLid));
    const again = await account.write(underNumber);
    expect(again.type).toBe('pkmsg');
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, again);
    await account.answer(ANA.lid, underNumber);
  });

  it('is used no more when its first message is of a new session', async () => {
    const account = await openAccount();
    const old = new SignalPeer(ANA.number);
    const fresh = new SignalPeer(ANA.number, old.identity);
    await account.readDirect({ from: ANA.pn }, await account.write(old));
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, await account.write(fresh));
    await account.answer(ANA.lid, fresh);
  });

  it('is decrypted when its device is in no list, and the pair is known', async () => {
    const account = await openAccount();
    const tablet = new Somebody(ANA.number, 5);
    const peer = new SignalPeer(ANA.number);
    await account.readDirect({ from: tablet.pn }, await account.write(peer));
    await account.answer(tablet.pn, peer);
    await account.repository.lidMapping.storeLIDPNMappings([ANA.pair]);
    await account.readDirect({ from: tablet.lid }, await account.write(peer));
    await account.readDirect({ from: tablet.pn }, await account.write(peer));
    expect(await sessionsOf(account, tablet.pnAddress)).toEqual([]);
  });

  it('is decrypted once, whichever address the repeated bytes come from', async () => {
    const account = await openAccount();
    const { underNumber } = await twoSessions(account, ANA);
    const message = await account.write(underNumber);
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, message);
    for (const from of [ANA.lid, ANA.pn]) {
      await expect(account.readDirect({ from, pair: ANA.pair }, message)).rejects.toThrow();
      await expect(account.readDirect({ from }, message)).rejects.toThrow();
    }
  });

  it('is moved and decrypted in one unit, or not at all', async () => {
    const account = await openAccount();
    const { underNumber } = await twoSessions(account, ANA);
    await account.auth.commits.flush();
    const message = await account.write(underNumber);
    const commit = store.commit.bind(store);
    const sizes: number[] = [];
    store.commit = async (_, change) => {
      sizes.push(change.journal.length);
      throw new Error('no database');
    };
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, message);
    await expect(account.auth.commits.flush()).rejects.toThrow('no database');
    expect(sizes[0]).toBe(1);
    store.commit = commit;
    const restarted = await openAccount();
    expect(await sessionsOf(restarted, ANA.pnAddress)).toHaveLength(1);
    expect(await sessionsOf(restarted, ANA.lidAddress)).toHaveLength(1);
    await account.auth.prepare();
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, message);
    await account.answer(ANA.lid, underNumber);
  });

  it('and cannot be decrypted changes nothing, and teaches no pair', async () => {
    const account = await openAccount();
    await twoSessions(account, ANA);
    const stranger = new SignalPeer(ANA.number);
    await account.write(stranger);
    const damaged = { type: 'msg' as const, bytes: Buffer.alloc(80, 3) };
    await expect(account.readDirect({ from: ANA.lid, pair: ANA.pair }, damaged)).rejects.toThrow();
    expect(await sessionsOf(account, ANA.pnAddress)).toHaveLength(1);
    expect(await account.repository.lidMapping.getPNForLID(ANA.lid)).toBeNull();
    expect(await account.repository.lidMapping.getLIDForPN(ANA.pn)).toBeNull();
  });

  it('never has its session in two records, whatever the order of addresses and sessions', async () => {
    const step = fc.record({
      from: fc.constantFrom(ANA.pn, ANA.lid),
      isUnderLid: fc.boolean(),
      isAnswered: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        store = new MemoryKeyStore(new MemoryJournal());
        const account = await openAccount();
        const { underNumber, underLid } = await twoSessions(account, ANA);
        for (const { from, isUnderLid, isAnswered } of steps) {
          const peer = isUnderLid ? underLid : underNumber;
          await account.readDirect({ from, pair: ANA.pair }, await account.write(peer));
          if (isAnswered) await account.repository.encryptMessage({ jid: from, data: HI });
          const numbers = await sessionsOf(account, ANA.pnAddress);
          const lids = await sessionsOf(account, ANA.lidAddress);
          expect(new Set([...numbers, ...lids]).size).toBe(2);
          expect(numbers.length + lids.length).toBe(2);
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('a pair of two people, which the server named by mistake', () => {
  const wrong = { pn: ANA.pn, lid: BEA.lid };

  it('does not make a message of the one a message of the other', async () => {
    const account = await openAccount();
    const ana = new SignalPeer(ANA.number);
    const bea = new SignalPeer(BEA.number);
    for (const [from, peer] of [
      [ANA.pn, ana],
      [BEA.lid, bea],
    ] as const) {
      await account.readDirect({ from }, await account.write(peer));
      await account.answer(from, peer);
    }
    const message = await account.write(ana);
    await expect(account.readDirect({ from: BEA.lid, pair: wrong }, message)).rejects.toThrow();
    // It is Ana's still, and so is the session.
    await account.readDirect({ from: ANA.pn, pair: ANA.pair }, message);
    await account.readDirect({ from: BEA.lid, pair: BEA.pair }, await account.write(bea));
  });

  it('does not either when the device of the other never wrote, and the LID is that of another number', async () => {
    const account = await openAccount();
    const ana = new SignalPeer(ANA.number);
    await account.readDirect({ from: ANA.pn }, await account.write(ana));
    await account.answer(ANA.pn, ana);
    await account.repository.lidMapping.storeLIDPNMappings([BEA.pair]);
    await expect(
      account.readDirect({ from: BEA.lid, pair: wrong }, await account.write(ana)),
    ).rejects.toThrow();
    expect(await account.repository.lidMapping.getPNForLID(BEA.lid)).toContain(BEA.number);
  });

  it('does not either when the server gave the identity key of the one for the other', async () => {
    const account = await openAccount();
    const ana = new SignalPeer(ANA.number);
    const bea = new SignalPeer(BEA.number);
    await account.readDirect({ from: ANA.pn }, await account.write(ana));
    await account.answer(ANA.pn, ana);
    await account.readDirect({ from: BEA.lid }, await account.write(bea));
    const { identityKey, preKey, ...bundle } = ana.identity.newBundle();
    await account.repository.injectE2ESession({
      jid: BEA.lid,
      session: {
        ...withTypes(bundle),
        identityKey: generateSignalPubKey(identityKey),
        preKey: typed(preKey),
      },
    });
    await expect(
      account.readDirect({ from: BEA.lid, pair: wrong }, await account.write(ana)),
    ).rejects.toThrow();
  });

  it('does not make a key of a group the key of the other', async () => {
    const account = await openAccount();
    const ana = new SignalPeer(ANA.number);
    const bea = new SignalPeer(BEA.number);
    await account.readDirect({ from: ANA.pn }, await account.write(ana));
    await account.readDirect({ from: BEA.lid }, await account.write(bea));
    const keys = new SenderKeys();
    await account.learnKey({ from: ANA.pn }, await keys.distribution(GROUP));
    const message = await keys.encrypt(GROUP, { conversation: 'of Ana' });
    await expect(account.readGroup({ from: BEA.lid, pair: wrong }, message)).rejects.toThrow();
    await account.readGroup({ from: ANA.pn }, message);
    const others = new SenderKeys();
    await account.learnKey({ from: BEA.lid }, await others.distribution(GROUP));
    const answer = await others.encrypt(GROUP, { conversation: 'of Bea' });
    await expect(account.readGroup({ from: ANA.pn, pair: wrong }, answer)).rejects.toThrow();
  });

  it('does not either when the pair was learned with a message of the other', async () => {
    const account = await openAccount();
    const ana = new SignalPeer(ANA.number);
    const bea = new SignalPeer(BEA.number);
    await account.readDirect({ from: ANA.pn, pair: ANA.pair }, await account.write(ana));
    const keys = new SenderKeys();
    await account.learnKey({ from: ANA.pn, pair: ANA.pair }, await keys.distribution(GROUP));
    await account.readDirect({ from: BEA.lid, pair: wrong }, await account.write(bea));
    expect(await account.repository.lidMapping.getLIDForPN(ANA.pn)).toBe(BEA.lid);
    const message = await keys.encrypt(GROUP, { conversation: 'of Ana' });
    await expect(account.readGroup({ from: BEA.lid, pair: wrong }, message)).rejects.toThrow();
  });
});

describe("a member's key of a group under the other address", () => {
  /** Ana's phone, whose identity key is known, and her key of the group under one address. */
  async function withKey(account: Account, stanza: Stanza) {
    const peer = new SignalPeer(ANA.number);
    await account.readDirect(stanza, await account.write(peer));
    const keys = new SenderKeys();
    await account.learnKey(stanza, await keys.distribution(GROUP));
    await account.readGroup(stanza, await keys.encrypt(GROUP, { conversation: 'before' }));
    return keys;
  }

  it.each([
    ['one address', undefined],
    ['both addresses', ANA.pair],
  ])(
    'decrypts after the group has changed to LIDs, and back: at first its stanzas name %s',
    async (_, pair) => {
      const account = await openAccount();
      const keys = await withKey(account, { from: ANA.pn, pair });
      const name = (user: string) => `${GROUP}::${user}::0`;
      for (const [from, left, other] of [
        [ANA.lid, `9${ANA.number}_1`, ANA.number],
        [ANA.pn, ANA.number, `9${ANA.number}_1`],
      ] as const) {
        const message = await keys.encrypt(GROUP, { conversation: 'after' });
        await account.readGroup({ from, pair: ANA.pair }, message);
        expect(await account.stored('sender-key', name(left))).toBeDefined();
        expect(await account.stored('sender-key', name(other))).toBeUndefined();
        await expect(account.readGroup({ from, pair: ANA.pair }, message)).rejects.toThrow();
      }
    },
  );

  it('decrypts after a group of LIDs has changed to numbers, and back', async () => {
    const account = await openAccount();
    const keys = await withKey(account, { from: ANA.lid, pair: ANA.pair });
    for (const [from, other] of [
      [ANA.pn, ANA.lid],
      [ANA.lid, ANA.pn],
      [ANA.pn, ANA.lid],
    ] as const) {
      const message = await keys.encrypt(GROUP, { conversation: 'after' });
      await account.readGroup({ from, pair: ANA.pair }, message);
      await expect(account.readGroup({ from: other, pair: ANA.pair }, message)).rejects.toThrow();
    }
  });

  it('decrypts what is late after a key came under the new address', async () => {
    const account = await openAccount();
    const keys = await withKey(account, { from: ANA.pn });
    const late = await keys.encrypt(GROUP, { conversation: 'late' });
    const renewed = new SenderKeys();
    await account.learnKey({ from: ANA.lid, pair: ANA.pair }, await renewed.distribution(GROUP));
    const next = await renewed.encrypt(GROUP, { conversation: 'new key' });
    for (const message of [next, late, await renewed.encrypt(GROUP, { conversation: 'newer' })]) {
      await account.readGroup({ from: ANA.lid, pair: ANA.pair }, message);
    }
  });

  it('decrypts nothing twice when the same key came under both addresses', async () => {
    const account = await openAccount();
    const keys = await withKey(account, { from: ANA.pn });
    const early = await keys.distribution(GROUP);
    const message = await keys.encrypt(GROUP, { conversation: 'once' });
    await account.readGroup({ from: ANA.pn }, message);
    await account.learnKey({ from: ANA.lid, pair: ANA.pair }, early);
    await expect(account.readGroup({ from: ANA.lid, pair: ANA.pair }, message)).rejects.toThrow();
    await account.readGroup(
      { from: ANA.lid, pair: ANA.pair },
      await keys.encrypt(GROUP, { conversation: 'next' }),
    );
  });
});

describe('the pair of a number and a LID', () => {
  it('replaces the former pairs of both', async () => {
    const { repository } = await openAccount();
    const { lidMapping } = repository;
    await lidMapping.storeLIDPNMappings([ANA.pair, BEA.pair]);
    await lidMapping.storeLIDPNMappings([{ pn: ANA.pn, lid: BEA.lid }]);
    expect(await lidMapping.getLIDForPN(ANA.pn)).toBe(BEA.lid);
    expect(await lidMapping.getPNForLID(BEA.lid)).toContain(ANA.number);
    expect(await lidMapping.getPNForLID(ANA.lid)).toBeNull();
    expect(await lidMapping.getLIDForPN(BEA.pn)).toBeNull();
  });

  it('is learned again after a unit that the database rejected', async () => {
    const account = await openAccount();
    const peer = new SignalPeer(ANA.number);
    const damaged = { type: 'msg' as const, bytes: Buffer.alloc(80, 3) };
    await expect(account.readDirect({ from: ANA.lid, pair: ANA.pair }, damaged)).rejects.toThrow();
    await account.readDirect({ from: ANA.lid, pair: ANA.pair }, await account.write(peer));
    expect(await account.stored('lid-mapping', ANA.number)).toBe(`9${ANA.number}`);
  });

  it('moves sessions for Baileys without the loss of those of the LID', async () => {
    const account = await openAccount();
    const { underNumber, underLid } = await twoSessions(account, ANA);
    const { migrated } = await account.repository.migrateSession(ANA.pn, ANA.lid);
    expect(migrated).toBe(1);
    for (const peer of [underLid, underNumber]) {
      await account.readDirect({ from: ANA.lid }, await account.write(peer));
    }
  });

  it('keeps the identity key of the number, so that another one is noticed', async () => {
    const account = await openAccount();
    await account.readDirect({ from: ANA.pn }, await account.write(new SignalPeer(ANA.number)));
    const reinstalled = await account.write(new SignalPeer(ANA.number));
    const isNew = await account.auth.steps.step(async (unit) => {
      const stanza = { chatJid: ANA.lid, author: ANA.lid, pair: ANA.pair, recipientPair: undefined };
      const decryptor = await account.signal.decryptor(unit, stanza);
      const { type, bytes } = reinstalled;
      await decryptor.repository.decryptMessage({ jid: ANA.lid, type, ciphertext: bytes });
      return decryptor.isIdentityNew;
    });
    expect(isNew).toBe(true);
  });
});

function typed(key: { keyId: number; publicKey: Uint8Array } | undefined) {
  return key && { keyId: key.keyId, publicKey: generateSignalPubKey(key.publicKey) };
}

function withTypes<
  T extends { signedPreKey: { keyId: number; publicKey: Uint8Array; signature: Uint8Array } },
>(bundle: T) {
  const { keyId, publicKey, signature } = bundle.signedPreKey;
  return { ...bundle, signedPreKey: { keyId, publicKey: generateSignalPubKey(publicKey), signature } };
}
