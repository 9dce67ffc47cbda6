import {
  DEFAULT_CONNECTION_CONFIG,
  isJidGroup,
  isLidUser,
  isPnUser,
  jidDecode,
  type LIDMapping,
  type SignalAuthState,
  type SignalRepositoryWithLIDStore,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { lidMappingsOver, type NumbersWithoutLid } from './lid-mappings.ts';
import { copyIdentity, moveSenderKeys, moveSessions } from './move-keys.ts';
import type { SignalSteps } from './signal-steps.ts';
import { decryptFirstMessage, trySignalSessions } from './try-signal-sessions.ts';
import type { Unit } from './unit.ts';

type MakeRepository = SocketConfig['makeSignalRepository'];

/** The addresses of a stanza; JIDs. */
export interface StanzaAddresses {
  /** Its `from`. */
  chatJid: string | undefined;
  /** The device that made the ciphertexts. */
  author: string;
  /** The number and the LID of the author, if the stanza names both. */
  pair: LIDMapping | undefined;
  /** The same of the chat partner, in a message that the account wrote. */
  recipientPair: LIDMapping | undefined;
}

/** What became of a pair of number and LID. */
interface LearnedPair {
  /** The base keys of the moved sessions that messages were encrypted with. */
  moved: string[];
  /** Neither address belonged to another pair. */
  isNew: boolean;
}

/** Signal for the decryption of one stanza, inside a step. */
interface StanzaDecryptor {
  /** For Baileys' `decryptMessageNode`; a part that fails leaves nothing in the unit. */
  repository: SignalRepositoryWithLIDStore;
  /** The plaintexts of the decrypted parts, in their order. */
  plaintexts: Uint8Array[];
  /** The author has another identity key than before: a new phone, a new installation, or another author. */
  isIdentityNew: boolean;
  /** Removes everything that the stanza changed, its pair included. Call it when no part of it was decrypted. */
  discard(): void;
}

/** Signal of one socket. */
export interface AccountSignal {
  /** For Baileys: every change is a step, and WhatsApp is queried for LIDs outside of steps. */
  repository: SignalRepositoryWithLIDStore;
  /**
   * For the step that has this unit. Learns the stanza's pair: a message may be encrypted with the session of either
   * address. The move and the decryption are one unit.
   */
  decryptor(unit: Unit, stanza: StanzaAddresses): Promise<StanzaDecryptor>;
  /**
   * Stores that a number and a LID are one person, and moves the number's sessions to the LID (move-keys.ts). Former
   * pairs of either are removed. Call it in a step.
   */
  learn(pair: LIDMapping): Promise<LearnedPair>;
}

const NOTHING_LEARNED: LearnedPair = { moved: [], isNew: false };

/**
 * Makes Signal over the account's steps; it replaces the repository of Baileys (`makeSignalRepository`). Workaround:
 * refs/baileys-workarounds.md.
 */
export function createAccountSignal(
  steps: SignalSteps,
  creds: SignalAuthState['creds'],
  logger: Parameters<MakeRepository>[1],
  queryWhatsApp: Parameters<MakeRepository>[2],
  withoutLid: NumbersWithoutLid,
): AccountSignal {
  const { keys } = steps;
  // It must not query WhatsApp: no step waits for the network.
  const inner = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, undefined);

  const learn = async ({ pn, lid }: LIDMapping): Promise<LearnedPair> => {
    const phone = jidDecode(pn);
    const user = jidDecode(lid)?.user;
    if (!phone || !user || !isPnUser(pn) || !isLidUser(lid)) return NOTHING_LEARNED;
    const number = phone.user;
    const known = await keys.get('lid-mapping', [number, `${user}_reverse`]);
    const [oldLid, oldNumber] = [known[number], known[`${user}_reverse`]];
    const isKnown = oldLid === user && oldNumber === number;
    const device = String(phone.device ?? jidDecode(lid)?.device ?? 0);
    const devices = new Set([device]);
    if (!isKnown) {
      const oldKeys = [...(oldLid ? [`${oldLid}_reverse`] : []), ...(oldNumber ? [oldNumber] : [])];
      const old = await keys.get('lid-mapping', oldKeys);
      await keys.set({
        'lid-mapping': {
          ...(oldLid && old[`${oldLid}_reverse`] === number && { [`${oldLid}_reverse`]: null }),
          ...(oldNumber && old[oldNumber] === user && { [oldNumber]: null }),
          [number]: user,
          [`${user}_reverse`]: number,
        },
      });
      // Baileys caches pairs, also those that are removed here.
      inner.lidMapping.close();
      const { [number]: listed } = await keys.get('device-list', [number]);
      for (const other of ['0', ...(listed ?? [])]) devices.add(other);
    }
    const isNew = (oldLid ?? user) === user && (oldNumber ?? number) === number;
    const moved: string[] = [];
    for (const each of devices) {
      const session = await moveSessions(keys, `${number}.${each}`, `${user}_1.${each}`, isNew);
      if (session) moved.push(session);
    }
    return { moved, isNew };
  };

  const storedPair = async (jid: string): Promise<LIDMapping | undefined> => {
    if (isPnUser(jid)) {
      const lid = await inner.lidMapping.getLIDForPN(jid);
      return lid ? { pn: jid, lid } : undefined;
    }
    const pn = await inner.lidMapping.getPNForLID(jid);
    return pn ? { pn, lid: jid } : undefined;
  };

  const repository: SignalRepositoryWithLIDStore = {
    ...inner,
    lidMapping: lidMappingsOver(inner.lidMapping, { steps, learn, queryWhatsApp, withoutLid }),
    decryptMessage: (options) => steps.step(() => inner.decryptMessage(options)),
    decryptGroupMessage: (options) => steps.step(() => inner.decryptGroupMessage(options)),
    encryptMessage: (options) =>
      steps.step((unit) => {
        unit.isEncryption = true;
        return inner.encryptMessage(options);
      }),
    encryptGroupMessage: (options) => steps.step(() => inner.encryptGroupMessage(options)),
    // From stanzas that Baileys decrypts: status updates and broadcast lists. Keys of groups come in the stanzas of groups.
    processSenderKeyDistributionMessage: async (options) => {
      if (!options.item.groupId?.endsWith('@broadcast')) return;
      await steps.step(() => inner.processSenderKeyDistributionMessage(options));
    },
    getSenderKeyDistributionMessage: (options) =>
      steps.step(() => inner.getSenderKeyDistributionMessage(options)),
    injectE2ESession: (options) => steps.step(() => inner.injectE2ESession(options)),
    deleteSession: (jids) => steps.step(() => inner.deleteSession(jids)),
    // That of Baileys replaces the sessions of the LID.
    migrateSession: async (from, to) => {
      const { moved } = await steps.step(() => learn({ pn: from, lid: to }));
      return { migrated: moved.length, skipped: 0, total: moved.length };
    },
    validateSession: (jid) => steps.step(() => inner.validateSession(jid)),
    getSessionInfo: (jid) => steps.step(() => inner.getSessionInfo(jid)),
    hasSenderKey: (options) => steps.step(() => inner.hasSenderKey(options)),
  };

  const decryptor = async (
    unit: Unit,
    { chatJid, author, pair: named, recipientPair }: StanzaAddresses,
  ): Promise<StanzaDecryptor> => {
    unit.isStanza = true;
    const before = unit.mark();
    // A step that was void may have filled the cache.
    inner.lidMapping.close();
    if (recipientPair) await learn(recipientPair);
    const pair = named ?? (await storedPair(author));
    const { moved, isNew } = pair ? await learn(pair) : NOTHING_LEARNED;
    const plaintexts: Uint8Array[] = [];
    const part = async (decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> => {
      const mark = unit.mark();
      try {
        const plaintext = await decrypt();
        plaintexts.push(plaintext);
        return plaintext;
      } catch (error) {
        unit.restore(mark);
        throw error;
      }
    };
    const decryptor: StanzaDecryptor = {
      plaintexts,
      isIdentityNew: false,
      discard: () => {
        unit.restore(before);
        inner.lidMapping.close();
      },
      repository: {
        ...inner,
        // The author chooses the group's name in the message; the stanza's group is the true one.
        processSenderKeyDistributionMessage: async ({ item, authorJid }) => {
          if (!chatJid || !isJidGroup(chatJid)) return;
          await inner.processSenderKeyDistributionMessage({ item: { ...item, groupId: chatJid }, authorJid });
          const lid = isPnUser(authorJid) && (await inner.lidMapping.getLIDForPN(authorJid));
          if (!lid) return;
          const [number, sessions] = [authorJid, lid].map((jid) => inner.jidToSignalProtocolAddress(jid));
          if (number && sessions) await copyIdentity(keys, sessions, number);
        },
        decryptGroupMessage: (options) =>
          part(async () => {
            const other = otherAddress();
            const address = inner.jidToSignalProtocolAddress(author);
            if (other) await moveSenderKeys(keys, options.group, other, address, isNew);
            return inner.decryptGroupMessage(options);
          }),
        decryptMessage: (options) =>
          part(async () => {
            const decrypt = () => inner.decryptMessage(options);
            const address = inner.jidToSignalProtocolAddress(options.jid);
            if (options.type === 'pkmsg') {
              return noteIdentity(address, () => decryptFirstMessage(keys, address, decrypt, moved));
            }
            return trySignalSessions(keys, address, decrypt, moved);
          }),
      },
    };
    /** The author's device under the other address of the pair. */
    const otherAddress = (): string | undefined => {
      const jid = pair && (isLidUser(author) ? pair.pn : pair.lid);
      const user = jid && jidDecode(jid)?.user;
      const device = jidDecode(author)?.device ?? 0;
      return user && `${user}${isLidUser(author) ? '' : '_1'}.${device}`;
    };
    const noteIdentity = async <T>(address: string, decrypt: () => Promise<T>): Promise<T> => {
      const { [address]: before } = await keys.get('identity-key', [address]);
      const plaintext = await decrypt();
      const { [address]: after } = await keys.get('identity-key', [address]);
      if (before && after && Buffer.compare(before, after) !== 0) decryptor.isIdentityNew = true;
      return plaintext;
    };
    return decryptor;
  };

  return { repository, decryptor, learn };
}
