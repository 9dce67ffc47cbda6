import { createHash } from 'node:crypto';
import { jidNormalizedUser, normalizeMessageContent, proto, type WAMessage } from '@whiskeysockets/baileys';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import { decryptWithSecret } from './message-secret.ts';

type Poll = Extract<SpecialMessage, { kind: 'poll' }>;

/** What a person chose in a poll of the account. */
export interface PollAnswer {
  pollId: string;
  question: string;
  /** Of the poll, in its order; none when the person took the vote back. */
  options: string[];
}

/** WhatsApp's id of the poll that a message votes in; undefined for any other message. */
export function pollIdOf({ message }: WAMessage): string | undefined {
  const vote = normalizeMessageContent(message ?? undefined)?.pollUpdateMessage;
  return (vote?.vote && vote.pollCreationMessageKey?.id) || undefined;
}

/**
 * Opens a vote in a poll that the account sent.
 * @returns undefined when it cannot be opened
 */
export function openVote(
  { message, key }: WAMessage,
  pollId: string,
  poll: Poll,
  own: ReadonlyArray<string | undefined>,
): PollAnswer | undefined {
  const vote = normalizeMessageContent(message ?? undefined)?.pollUpdateMessage?.vote;
  if (!vote) return undefined;
  const voters = key.participant ? [key.participant, key.participantAlt] : [key.remoteJid, key.remoteJidAlt];
  const plaintext = decryptWithSecret(vote, {
    use: 'Poll Vote',
    secret: Buffer.from(poll.secret, 'base64'),
    messageId: pollId,
    authors: jids(own),
    writers: jids(voters),
  });
  const selected = plaintext && selectedIn(plaintext);
  if (!selected) return undefined;
  const options = poll.options.filter((option) => selected.has(hashOf(option)));
  return { pollId, question: poll.question, options };
}

/** Hashes of the chosen options. */
function selectedIn(plaintext: Uint8Array): Set<string> | undefined {
  try {
    const { selectedOptions } = proto.Message.PollVoteMessage.decode(plaintext);
    return new Set((selectedOptions ?? []).map((hash) => Buffer.from(hash).toString('hex')));
  } catch {
    return undefined;
  }
}

function jids(given: ReadonlyArray<string | null | undefined>): string[] {
  return [...new Set(given.flatMap((jid) => (jid ? [jidNormalizedUser(jid)] : [])))];
}

function hashOf(option: string): string {
  return createHash('sha256').update(option).digest('hex');
}
