import type { SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';

type StoredRecord = SignalDataTypeMap['session'] & { _sessions?: Record<string, StoredSession> };

interface StoredSession {
  indexInfo?: { used?: number };
}

/**
 * Decrypts with each session that is stored for an address, the latest used first, each alone in the record.
 *
 * libsignal tries them in turn too, but keeps what the failed tries did: a try steps the ratchet of a session that the
 * message is not of, and the step is stored with the one that succeeded. That session can decrypt nothing any more.
 * Run in a Signal step: a failure leaves the record as it was.
 * @param decrypt decrypts with whatever is stored under the address, and stores its step there
 * @throws what the latest used session threw
 */
export async function trySignalSessions(
  keys: Pick<SignalKeyStore, 'get' | 'set'>,
  address: string,
  decrypt: () => Promise<Uint8Array>,
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
      const stepped = (await read())?._sessions?.[name] ?? session;
      const merged = sessions.map(([other, value]) => [other, other === name ? stepped : value]);
      await write({ ...record, _sessions: Object.fromEntries(merged) });
      return plaintext;
    } catch (error) {
      firstError ??= error;
    }
  }
  await write(record);
  throw firstError;
}
