import {
  DEFAULT_CONNECTION_CONFIG,
  isJidGroup,
  jidDecode,
  type LIDMapping,
  type SignalAuthState,
  type SignalRepositoryWithLIDStore,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { lidMappingsOver, type NumbersWithoutLid } from './lid-mappings.ts';
import type { SignalSteps } from './signal-steps.ts';
import { trySignalSessions } from './try-signal-sessions.ts';
import type { Unit } from './unit.ts';

type MakeRepository = SocketConfig['makeSignalRepository'];

/** Signal for the decryption of one stanza, inside a step. */
export interface StanzaDecryptor {
  /** For Baileys' `decryptMessageNode`; a part that fails leaves nothing in the unit. */
  repository: SignalRepositoryWithLIDStore;
  /** The plaintexts of the decrypted parts, in their order. */
  plaintexts: Uint8Array[];
  /** The author has another identity key than before: a new phone, a new installation, or another author. */
  isIdentityNew: boolean;
}

/** Signal of one socket. */
export interface AccountSignal {
  /** For Baileys: every change is a step, and WhatsApp is queried for LIDs outside of steps. */
  repository: SignalRepositoryWithLIDStore;
  /** For the step that has this unit, and a stanza of the chat with this JID. */
  decryptor(unit: Unit, chatJid: string | undefined): StanzaDecryptor;
  /** Stores that a number and a LID are one person, and moves the number's sessions to the LID. Call it in a step. */
  learn(pair: LIDMapping): Promise<void>;
}

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

  const learn = async ({ pn, lid }: LIDMapping): Promise<void> => {
    const phone = jidDecode(pn);
    const user = jidDecode(lid)?.user;
    if (!phone || !user) return;
    const known = await keys.get('lid-mapping', [phone.user, `${user}_reverse`]);
    if (known[phone.user] === user && known[`${user}_reverse`] === phone.user) return;
    await inner.lidMapping.storeLIDPNMappings([{ pn, lid }]);
    const { [phone.user]: listed } = await keys.get('device-list', [phone.user]);
    const devices = new Set([...(listed ?? []), '0', String(phone.device ?? jidDecode(lid)?.device ?? 0)]);
    const moves = [...devices].map((device) => [`${phone.user}.${device}`, `${user}_1.${device}`] as const);
    const sessions = await keys.get('session', moves.flat());
    for (const [from, to] of moves) {
      if (sessions[from] && !sessions[to]) {
        await keys.set({ session: { [to]: sessions[from], [from]: null } });
      }
    }
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
    migrateSession: (from, to) => steps.step(() => inner.migrateSession(from, to)),
    validateSession: (jid) => steps.step(() => inner.validateSession(jid)),
    getSessionInfo: (jid) => steps.step(() => inner.getSessionInfo(jid)),
    hasSenderKey: (options) => steps.step(() => inner.hasSenderKey(options)),
  };

  const decryptor = (unit: Unit, chatJid: string | undefined): StanzaDecryptor => {
    unit.isStanza = true;
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
      repository: {
        ...inner,
        // The author chooses the group's name in the message; the stanza's group is the true one.
        processSenderKeyDistributionMessage: async ({ item, authorJid }) => {
          if (!chatJid || !isJidGroup(chatJid)) return;
          await inner.processSenderKeyDistributionMessage({ item: { ...item, groupId: chatJid }, authorJid });
        },
        decryptGroupMessage: (options) => part(() => inner.decryptGroupMessage(options)),
        decryptMessage: (options) =>
          part(() => {
            const decrypt = () => inner.decryptMessage(options);
            const address = inner.jidToSignalProtocolAddress(options.jid);
            // A `pkmsg` names its session.
            if (options.type === 'pkmsg') return noteIdentity(address, decrypt);
            return trySignalSessions(keys, address, decrypt);
          }),
      },
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
