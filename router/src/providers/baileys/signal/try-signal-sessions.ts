import type { SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import { type StoredSession, withOpenSession } from './move-keys.ts';

type StoredRecord = SignalDataTypeMap['session'] & { _sessions?: Record<string, StoredSession> };

/**
 * Decrypts a message with one stored session of an address after the other, the most recently used first. During an
 * attempt the record contains that session only.
 *
 * libsignal attempts them in this order too, but stores the changes of failed attempts: an attempt advances the ratchet
 * of a session that the message does not belong to, and that session can decrypt nothing afterwards.
 * Run in a Signal step: a failure leaves the record unchanged. Workaround: refs/baileys-workarounds.md.
 * @param decrypt decrypts with the stored record of the address, and stores the advanced ratchet in it
 * @param moved base keys of sessions that come from the other address of the person. The device has moved there too and may
 *   have no other session, so the one that decrypts is used for the next messages to it.
 * @throws the error of the most recently used session
 */
export async function trySignalSessions(
  keys: Pick<SignalKeyStore, 'get' | 'set'>,
  address: string,
  decrypt: () => Promise<Uint8Array>,
  moved: readonly string[] = [],
): Promise<Uint8Array> {
  const read = async (): Promise<StoredRecord | undefined> => (await keys.get('session', [address]))[address];
  const write = (record: StoredRecord) => keys.set({ session: { [address]: record } });
  const record = await read();
  const sessions = Object.entries(record?._sessions ?? {});
  if (!record || sessions.length < 2) return decrypt();

  const byUse = sessions.toSorted(([, a], [, b]) => (b.indexInfo?.used ?? 0) - (a.indexInfo?.used ?? 0));
  let firstError: unknown;
  for (const [name, session] of byUse) {
    await write(structuredClone({ ...record, _sessions: { [name]: session } }));
    try {
      const plaintext = await decrypt();
      const advanced = (await read())?._sessions?.[name] ?? session;
      const merged = Object.fromEntries(
        sessions.map(([other, value]) => [other, other === name ? advanced : value]),
      );
      const _sessions = moved.includes(name) ? withOpenSession(merged, name) : merged;
      await write({ ...record, _sessions });
      return plaintext;
    } catch (error) {
      firstError ??= error;
    }
  }
  await write(record);
  throw firstError;
}
