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

/**
 * Decrypts a first message (`pkmsg`), which names its session. libsignal opens a session that is new. One that it knows already, because
 * the sender has had no answer yet, is opened here when it comes from the other address of the person: Signal makes the
 * session of the last message that was decrypted the current one. Run in a Signal step. Workaround: refs/baileys-workarounds.md.
 * @param moved as in `trySignalSessions`
 * @throws the error of `decrypt`
 */
export async function decryptFirstMessage(
  keys: Pick<SignalKeyStore, 'get' | 'set'>,
  address: string,
  decrypt: () => Promise<Uint8Array>,
  moved: readonly string[],
): Promise<Uint8Array> {
  if (moved.length === 0) return decrypt();
  const read = async (): Promise<StoredRecord | undefined> => (await keys.get('session', [address]))[address];
  const write = (record: StoredRecord) => keys.set({ session: { [address]: record } });
  // Without `indexInfo`, which changes when another session is opened.
  const ratchetOf = (record: StoredRecord | undefined, name: string) => {
    const { indexInfo: _, ...ratchet } = record?._sessions?.[name] ?? {};
    return JSON.stringify(ratchet);
  };
  const before = await read();
  const ratchets = new Map(moved.map((name) => [name, ratchetOf(before, name)]));
  const plaintext = await decrypt();
  const record = await read();
  const name = moved.find((each) => ratchetOf(record, each) !== ratchets.get(each));
  if (record?._sessions && name !== undefined) {
    await write({ ...record, _sessions: withOpenSession(record._sessions, name) });
  }
  return plaintext;
}
