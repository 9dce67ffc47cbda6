import { AsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import {
  DEFAULT_CONNECTION_CONFIG,
  jidDecode,
  type LIDMapping,
  proto,
  type SignalAuthState,
  type SignalDataSet,
  type SignalKeyStoreWithTransaction,
  type SignalRepositoryWithLIDStore,
  type SocketConfig,
  unpadRandomMax16,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { JournalEntry } from '../../../core/ports/journal.ts';
import { type AheadDecryption, type EarlyPart, type EarlyWork, NotNowError } from './ahead-decryption.ts';
import { DURABLE_CATEGORY, type Durable, JOURNAL_CATEGORY } from './auth-state.ts';
import type { KeyedLock } from './keyed-lock.ts';
import type { SendScopes } from './send-scope.ts';
import { decryptWithEach } from './session-trials.ts';
import type { StanzaQueue } from './stanza-queue.ts';

/** What the rest of the intake does around a decryption. */
export interface DecryptHooks {
  /** Resolves when the stanza that is being worked on may be queued for decryption. */
  turn(): Promise<void>;
  /** Baileys' turn to decrypt this has come. */
  begun(ciphertext: Uint8Array): void;
  /** The journal entry of a ciphertext without its plaintext; undefined when it belongs to no noted stanza. */
  entryFor(ciphertext: Uint8Array): Omit<JournalEntry, 'plaintext'> | undefined;
  /** Plaintext and ratchet are durable. Awaited before Baileys sends the delivery receipt. */
  decrypted(ciphertext: Uint8Array, entry: JournalEntry): Promise<void>;
  /** Baileys has the plaintext now and goes on to the receipt. */
  taken(ciphertext: Uint8Array): void;
  /** The entry that an earlier delivery of the same ciphertext left, when it is at hand. */
  remembered(ciphertextHash: string): JournalEntry | undefined;
  /** The same, wherever it is. */
  recall(ciphertextHash: string): Promise<JournalEntry | undefined>;
  failed(ciphertext: Uint8Array, error: unknown): void;
}

export interface SignalRepositoryOptions {
  hooks: DecryptHooks;
  ahead: AheadDecryption;
  queue: Pick<StanzaQueue, 'begun'>;
  sends: SendScopes;
  /** One for all accounts of the process: libsignal's own job queue is global and keyed by address alone. */
  locks: KeyedLock;
  /** Numbers that WhatsApp has no LID for, so that it is not asked again for each message. */
  withoutLid: { has(phoneJid: string): boolean; add(phoneJid: string): void };
}

const REMEMBERED_SENDER_KEYS = 2_000;

type MakeRepository = SocketConfig['makeSignalRepository'];
type Noting = (plaintext: Uint8Array) => Promise<void>;

/**
 * Wraps Baileys' signal repository (`makeSignalRepository` of its configuration) against six of its habits:
 *
 * - Encryption commits in a key transaction named after the own account, decryption in one named after the contact, so
 *   one undoes the other's ratchet step. Here both, and whatever else replaces a session, run alone per person.
 * - An encryption's ratchet step is committed only after the message went out. Here each step is a transaction of its
 *   own, outside the caller's, and durable before its ciphertext or plaintext is used. The next step may build on it
 *   before that: steps are stored in order, and none after one that failed.
 * - The delivery receipt goes out before the message is told. Here the plaintext is journalled in the same commit as the
 *   ratchet step that gave it, and a ciphertext delivered again is answered from the journal.
 * - Stanzas of one chat overtake each other on their way to the decryption. Here what Baileys looks up about a sender
 *   before it queues the stanza waits for the stanzas before it.
 * - A message that is not of the session tried first ruins that session (see session-trials.ts).
 * - A number without a LID is looked up at WhatsApp several times for each message.
 */
export function createSignalRepository(
  options: SignalRepositoryOptions,
  auth: SignalAuthState,
  logger: Parameters<MakeRepository>[1],
  askForLids: Parameters<MakeRepository>[2],
): SignalRepositoryWithLIDStore {
  const { hooks, locks, ahead, queue, sends } = options;
  const keys = auth.keys as SignalKeyStoreWithTransaction;
  const inner = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
    auth,
    logger,
    rememberingAbsent(askForLids, options.withoutLid),
  );
  const { lidMapping } = inner;
  const takenSenderKeys = new LRUCache<string, true>({ max: REMEMBERED_SENDER_KEYS });
  // Made here, outside every key transaction, so that work run in it opens one of its own.
  const outside = new AsyncResource('wa2ai-signal-repository');

  /** A person's number and LID, as far as known: work on either of the two must not overlap. */
  const namesOf = async (jid: string): Promise<string[]> => {
    const decoded = jidDecode(jid);
    if (!decoded) return [jid];
    const isLid = isLidServer(decoded.server);
    const other = isLid ? await lidMapping.getPNForLID(jid) : await lidMapping.getLIDForPN(jid);
    const otherUser = userOf(other);
    const names = [`${isLid ? 'lid' : 'pn'} ${decoded.user}`];
    if (otherUser) names.push(`${isLid ? 'pn' : 'lid'} ${otherUser}`);
    return names;
  };

  /** Under which a person's sessions are stored: that of the LID when it is known. */
  const addressOf = async (jid: string): Promise<string> =>
    inner.jidToSignalProtocolAddress((await lidMapping.getLIDForPN(jid)) ?? jid);

  /** Runs `work` in a transaction of its own; what it stored is in order, and durable with `durable.promise`. */
  const inTransaction = <T>(name: string, durable: Durable, work: () => Promise<T>): Promise<T> =>
    outside.runInAsyncScope(() =>
      keys.transaction(async () => {
        const result = await work();
        await keys.set({ [DURABLE_CATEGORY]: { on: durable } } as SignalDataSet);
        return result;
      }, name),
    );

  const aloneInGroup = async <T>(group: string, work: () => Promise<T>): Promise<T> => {
    const durable: Durable = {};
    const result = await inTransaction(group, durable, work);
    await durable.promise;
    return result;
  };

  const inLineWith = async <T>(
    jids: string[],
    work: () => Promise<T>,
  ): Promise<{ result: T; durable: Promise<void> | undefined }> => {
    const names = (await Promise.all(jids.map(namesOf))).flat();
    const durable: Durable = {};
    const result = await locks.run(names, () => inTransaction(`session ${names[0]}`, durable, work));
    return { result, durable: durable.promise };
  };

  const aloneWith = async <T>(jids: string[], work: () => Promise<T>): Promise<T> => {
    const { result, durable } = await inLineWith(jids, work);
    await durable;
    return result;
  };

  /** Decrypts with the plaintext journalled in the same commit; undefined entry: a stanza nobody noted. */
  const journalled = async (
    ciphertext: Uint8Array,
    decrypt: (note: Noting) => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    const entry = hooks.entryFor(ciphertext);
    if (!entry) return decrypt(async () => undefined);
    // After a crash much comes again. Trying keys that were used costs some 15 ms of computing for each.
    const earlier = hooks.remembered(entry.ciphertextHash);
    if (earlier) {
      await hooks.decrypted(ciphertext, earlier);
      return earlier.plaintext;
    }
    const plaintext = await decrypt(async (plaintext) => {
      // Not a category that Baileys knows: its transaction hands it through to our own store.
      const journal = { [JOURNAL_CATEGORY]: { [entry.ciphertextHash]: { ...entry, plaintext } } };
      await keys.set(journal as SignalDataSet);
    });
    await hooks.decrypted(ciphertext, { ...entry, plaintext });
    return plaintext;
  };

  const decryptDirect = (opts: Parameters<typeof inner.decryptMessage>[0]) =>
    journalled(opts.ciphertext, (note) =>
      aloneWith([opts.jid], async () => {
        const decrypt = () => inner.decryptMessage(opts);
        // A `pkmsg` names its session.
        const plaintext =
          opts.type === 'msg'
            ? await decryptWithEach(keys, await addressOf(opts.jid), decrypt)
            : await decrypt();
        await note(plaintext);
        return plaintext;
      }),
    );

  const decryptGroup = (opts: Parameters<typeof inner.decryptGroupMessage>[0]) =>
    journalled(opts.msg, (note) =>
      aloneInGroup(opts.group, async () => {
        const plaintext = await inner.decryptGroupMessage(opts);
        await note(plaintext);
        return plaintext;
      }),
    );

  /** In Baileys' turn: what was decrypted early, or now, or by an earlier delivery of the same ciphertext. */
  const decryptInTurn = async (
    ciphertext: Uint8Array,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    hooks.begun(ciphertext);
    queue.begun(ciphertext);
    const plaintext = await plaintextInTurn(ciphertext, decrypt);
    hooks.taken(ciphertext);
    return plaintext;
  };

  const plaintextInTurn = async (
    ciphertext: Uint8Array,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    const early = await ahead.take(ciphertext)?.catch(() => undefined);
    if (early) return early;
    try {
      const plaintext = await decrypt();
      ahead.ended(ciphertext, true);
      return plaintext;
    } catch (error) {
      ahead.ended(ciphertext, false);
      // Baileys goes from one stanza to the next without a pause, and a failure costs some 15 ms of computing: a storm of
      // them would keep every other chat, the lease's renewal and the stop waiting.
      await setImmediate();
      const hash = hooks.entryFor(ciphertext)?.ciphertextHash;
      const earlier = hash ? await hooks.recall(hash).catch(() => undefined) : undefined;
      if (!earlier) {
        hooks.failed(ciphertext, error);
        throw error;
      }
      await hooks.decrypted(ciphertext, earlier);
      return earlier.plaintext;
    }
  };

  /**
   * The address under which Baileys will decrypt (getDecryptionJid), when nothing in the stanza changes it: a number
   * that turns out to have a LID makes Baileys move its session first.
   */
  const settledAddress = async ({ author, alternate }: EarlyWork): Promise<string> => {
    const isLid = isLidServer(jidDecode(author)?.server);
    const other = isLid ? await lidMapping.getPNForLID(author) : await lidMapping.getLIDForPN(author);
    if (alternate !== undefined && userOf(other) !== userOf(alternate)) throw new NotNowError();
    return isLid ? author : (other ?? author);
  };

  /** Baileys takes the key in its turn too; once is enough, and each time would push an older key out. */
  const takeSenderKey: typeof inner.processSenderKeyDistributionMessage = async ({ item, authorJid }) => {
    const bytes = item.axolotlSenderKeyDistributionMessage;
    const { groupId } = item;
    if (!groupId || !bytes) return;
    const name = `${groupId} ${authorJid} ${Buffer.from(bytes).toString('base64')}`;
    if (takenSenderKeys.has(name)) return;
    await aloneInGroup(groupId, () => inner.processSenderKeyDistributionMessage({ item, authorJid }));
    takenSenderKeys.set(name, true);
  };

  ahead.use(async (work: EarlyWork, { kind, ciphertext }: EarlyPart) => {
    const { author, chat } = work;
    if (kind === 'skmsg') return decryptGroup({ group: chat, authorJid: author, msg: ciphertext });
    const plaintext = await decryptDirect({ jid: await settledAddress(work), type: kind, ciphertext });
    const item = work.isGroup ? senderKeyIn(plaintext) : undefined;
    if (item) await takeSenderKey({ item, authorJid: author });
    return plaintext;
  });

  return {
    ...inner,
    lidMapping: takingTurns(lidMapping, () => hooks.turn()),
    decryptMessage: (opts) => decryptInTurn(opts.ciphertext, () => decryptDirect(opts)),
    decryptGroupMessage: (opts) => decryptInTurn(opts.msg, () => decryptGroup(opts)),
    processSenderKeyDistributionMessage: takeSenderKey,
    encryptMessage: (opts) =>
      sends.encrypt(opts.jid, () => inLineWith([opts.jid], () => inner.encryptMessage(opts))),
    injectE2ESession: (opts) => aloneWith([opts.jid], () => inner.injectE2ESession(opts)),
    encryptGroupMessage: (opts) => aloneInGroup(opts.group, () => inner.encryptGroupMessage(opts)),
    getSenderKeyDistributionMessage: (opts) =>
      aloneInGroup(opts.group, () => inner.getSenderKeyDistributionMessage(opts)),
    migrateSession: async (fromJid, toJid) => {
      await hooks.turn();
      return aloneWith([fromJid, toJid], () => inner.migrateSession(fromJid, toJid));
    },
    deleteSession: (jids) => aloneWith(jids, () => inner.deleteSession(jids)),
  };
}

/** The key that opens its author's messages in a group, when a decrypted message brings one. */
function senderKeyIn(plaintext: Uint8Array): proto.Message.ISenderKeyDistributionMessage | undefined {
  const message = proto.Message.decode(unpadRandomMax16(plaintext));
  return (message.deviceSentMessage?.message ?? message).senderKeyDistributionMessage ?? undefined;
}

function isLidServer(server: string | undefined): boolean {
  return server === 'lid' || server === 'hosted.lid';
}

function userOf(jid: string | null | undefined): string | undefined {
  return jid ? jidDecode(jid)?.user : undefined;
}

/** The mapping store whose questions at the beginning of a stanza's way wait for the stanza's turn. */
function takingTurns(
  lidMapping: SignalRepositoryWithLIDStore['lidMapping'],
  turn: () => Promise<void>,
): SignalRepositoryWithLIDStore['lidMapping'] {
  const own: Pick<typeof lidMapping, 'getPNForLID' | 'storeLIDPNMappings'> = {
    getPNForLID: async (lid) => {
      await turn();
      return lidMapping.getPNForLID(lid);
    },
    storeLIDPNMappings: async (pairs) => {
      await turn();
      return lidMapping.storeLIDPNMappings(pairs);
    },
  };
  return Object.assign(Object.create(lidMapping), own);
}

function rememberingAbsent(
  ask: Parameters<MakeRepository>[2],
  withoutLid: SignalRepositoryOptions['withoutLid'],
): Parameters<MakeRepository>[2] {
  if (!ask) return undefined;
  return async (phoneJids) => {
    const unknown = phoneJids.filter((jid) => !withoutLid.has(jid));
    if (unknown.length === 0) return [];
    let found: LIDMapping[];
    try {
      found = (await ask(unknown)) ?? [];
    } catch {
      // Baileys would take the failed question for a missing session.
      return [];
    }
    const answered = new Set(found.map((mapping) => mapping.pn));
    for (const jid of unknown) if (!answered.has(jid)) withoutLid.add(jid);
    return found;
  };
}
