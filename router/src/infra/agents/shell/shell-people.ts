import { canonicalChannelId, writtenForms } from '../../../core/chat-id.ts';
import type { IncomingMessage } from '../../../core/models.ts';

/** Whether the author of a message may use the shell: by number or LID, and in a group only when the group may too. */
export function mayUseShell(
  allow: readonly string[],
  { from, fromLid, channelId, isGroup }: Pick<IncomingMessage, 'from' | 'fromLid' | 'channelId' | 'isGroup'>,
): boolean {
  const allowed = new Set(allow.map((written) => canonicalChannelId(written)));
  const names = [from, fromLid].flatMap((jid) => (jid === undefined ? [] : (canonicalChannelId(jid) ?? [])));
  if (!writtenForms(names).some((name) => allowed.has(name))) return false;
  return !isGroup || allowed.has(canonicalChannelId(channelId));
}
