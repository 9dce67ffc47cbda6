const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Names a chat in log lines without naming the person: eight hexadecimal digits (FNV-1a), the same for a message, its
 * turn and its reply, because all three have the JID that the chat's messages come from.
 * @param jid without a device
 */
export function chatHash(accountId: string, jid: string): string {
  let hash = FNV_OFFSET;
  for (const char of `${accountId} ${jid}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), FNV_PRIME) >>> 0;
  }
  return hash.toString(16).padStart(8, '0');
}
