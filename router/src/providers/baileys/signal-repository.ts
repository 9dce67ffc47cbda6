import { AsyncResource } from 'node:async_hooks';
import {
  DEFAULT_CONNECTION_CONFIG,
  jidDecode,
  type LIDMapping,
  type SignalAuthState,
  type SignalDataSet,
  type SignalKeyStoreWithTransaction,
  type SignalRepositoryWithLIDStore,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import type { JournalEntry } from '../../core/ports/journal.ts';
import { JOURNAL_CATEGORY } from './auth-state.ts';
import type { KeyedLock } from './keyed-lock.ts';

/** What the rest of the intake does around a decryption. */
export interface DecryptHooks {
  /** The journal entry of a ciphertext without its plaintext; undefined when it belongs to no noted stanza. */
  entryFor(ciphertext: Uint8Array): Omit<JournalEntry, 'plaintext'> | undefined;
  /** Plaintext and ratchet are durable. Awaited before Baileys sends the delivery receipt. */
  decrypted(ciphertext: Uint8Array, entry: JournalEntry): Promise<void>;
  /** The entry that an earlier delivery of the same ciphertext left. */
  recall(ciphertextHash: string): Promise<JournalEntry | undefined>;
  failed(ciphertext: Uint8Array, error: unknown): void;
}

export interface SignalRepositoryOptions {
  hooks: DecryptHooks;
  /** One for all accounts of the process: libsignal's own job queue is global and keyed by address alone. */
  locks: KeyedLock;
  /** Numbers that WhatsApp has no LID for, so that it is not asked again for each message. */
  withoutLid: { has(phoneJid: string): boolean; add(phoneJid: string): void };
}

type MakeRepository = SocketConfig['makeSignalRepository'];

/**
 * Wraps Baileys' signal repository (`makeSignalRepository` of its configuration) against four of its habits:
 *
 * - Encryption commits in a key transaction named after the own account, decryption in one named after the contact, so
 *   one undoes the other's ratchet step. Here both, and whatever else replaces a session, run alone per person.
 * - An encryption's ratchet step is committed only after the message went out. Here each step is a transaction of its
 *   own, outside the caller's, and durable before its ciphertext or plaintext is used.
 * - The delivery receipt goes out before the message is told. Here the plaintext is journalled in the same commit as the
 *   ratchet step that gave it, and a ciphertext delivered again is answered from the journal.
 * - A number without a LID is looked up at WhatsApp several times for each message.
 */
export function createSignalRepository(
  options: SignalRepositoryOptions,
  auth: SignalAuthState,
  logger: Parameters<MakeRepository>[1],
  askForLids: Parameters<MakeRepository>[2],
): SignalRepositoryWithLIDStore {
  const { hooks, locks } = options;
  const keys = auth.keys as SignalKeyStoreWithTransaction;
  const inner = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
    auth,
    logger,
    rememberingAbsent(askForLids, options.withoutLid),
  );
  const { lidMapping } = inner;
  // Made here, outside every key transaction, so that work run in it opens one of its own.
  const outside = new AsyncResource('wa2ai-signal-repository');

  /** A person's number and LID, as far as known: work on either of the two must not overlap. */
  const namesOf = async (jid: string): Promise<string[]> => {
    const decoded = jidDecode(jid);
    if (!decoded) return [jid];
    const isLid = decoded.server === 'lid' || decoded.server === 'hosted.lid';
    const other = isLid ? await lidMapping.getPNForLID(jid) : await lidMapping.getLIDForPN(jid);
    const otherUser = other ? jidDecode(other)?.user : undefined;
    const names = [`${isLid ? 'lid' : 'pn'} ${decoded.user}`];
    if (otherUser) names.push(`${isLid ? 'pn' : 'lid'} ${otherUser}`);
    return names;
  };

  const inTransaction = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    outside.runInAsyncScope(() => keys.transaction(work, name));

  const aloneWith = async <T>(jids: string[], work: () => Promise<T>): Promise<T> => {
    const names = (await Promise.all(jids.map(namesOf))).flat();
    return locks.run(names, () => inTransaction(`session ${names[0]}`, work));
  };

  const journalled = async (
    ciphertext: Uint8Array,
    decrypt: (note: (plaintext: Uint8Array) => Promise<void>) => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    const entry = hooks.entryFor(ciphertext);
    if (!entry) return decrypt(async () => undefined);
    try {
      const plaintext = await decrypt(async (plaintext) => {
        // Not a category that Baileys knows: its transaction hands it through to our own store.
        const journal = { [JOURNAL_CATEGORY]: { [entry.ciphertextHash]: { ...entry, plaintext } } };
        await keys.set(journal as SignalDataSet);
      });
      await hooks.decrypted(ciphertext, { ...entry, plaintext });
      return plaintext;
    } catch (error) {
      const earlier = await hooks.recall(entry.ciphertextHash).catch(() => undefined);
      if (!earlier) {
        hooks.failed(ciphertext, error);
        throw error;
      }
      await hooks.decrypted(ciphertext, earlier);
      return earlier.plaintext;
    }
  };

  return {
    ...inner,
    lidMapping,
    decryptMessage: (opts) =>
      journalled(opts.ciphertext, (note) =>
        aloneWith([opts.jid], async () => {
          const plaintext = await inner.decryptMessage(opts);
          await note(plaintext);
          return plaintext;
        }),
      ),
    decryptGroupMessage: (opts) =>
      journalled(opts.msg, (note) =>
        inTransaction(opts.group, async () => {
          const plaintext = await inner.decryptGroupMessage(opts);
          await note(plaintext);
          return plaintext;
        }),
      ),
    encryptMessage: (opts) => aloneWith([opts.jid], () => inner.encryptMessage(opts)),
    injectE2ESession: (opts) => aloneWith([opts.jid], () => inner.injectE2ESession(opts)),
    encryptGroupMessage: (opts) => inTransaction(opts.group, () => inner.encryptGroupMessage(opts)),
    getSenderKeyDistributionMessage: (opts) =>
      inTransaction(opts.group, () => inner.getSenderKeyDistributionMessage(opts)),
    migrateSession: (fromJid, toJid) =>
      aloneWith([fromJid, toJid], () => inner.migrateSession(fromJid, toJid)),
    deleteSession: (jids) => aloneWith(jids, () => inner.deleteSession(jids)),
  };
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
