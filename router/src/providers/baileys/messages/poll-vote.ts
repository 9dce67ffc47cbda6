import { createHash } from 'node:crypto';
import {
  decryptPollVote,
  jidNormalizedUser,
  normalizeMessageContent,
  type WAMessage,
} from '@whiskeysockets/baileys';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';

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
 * Opens a vote in a poll that the account sent. The key of a vote contains the JIDs of poll and voter, by number or by LID,
 * so each known pair is used until one decrypts it.
 * @returns undefined when none of them opens it
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
  const pollEncKey = Buffer.from(poll.secret, 'base64');
  for (const pollCreatorJid of jids(own)) {
    for (const voterJid of jids(voters)) {
      try {
        const { selectedOptions = [] } = decryptPollVote(vote, {
          pollCreatorJid,
          pollMsgId: pollId,
          pollEncKey,
          voterJid,
        });
        const chosen = new Set((selectedOptions ?? []).map((hash) => Buffer.from(hash).toString('hex')));
        const options = poll.options.filter((option) => chosen.has(hashOf(option)));
        return { pollId, question: poll.question, options };
      } catch {
        // Another pair of JIDs may open it.
      }
    }
  }
  return undefined;
}

function jids(given: ReadonlyArray<string | null | undefined>): string[] {
  return [...new Set(given.flatMap((jid) => (jid ? [jidNormalizedUser(jid)] : [])))];
}

function hashOf(option: string): string {
  return createHash('sha256').update(option).digest('hex');
}
