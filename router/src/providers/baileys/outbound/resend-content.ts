import { jidDecode, type proto, type WAMessageKey } from '@whiskeysockets/baileys';
import { jidHash } from '../../../core/chat-hash.ts';
import { parseJid } from '../../../core/chat-id.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { SentMessage } from '../../../core/ports/outbox.ts';
import { toProto } from '../messages/to-baileys.ts';

export interface ResendContentDeps {
  findSentMessage(waMessageId: string): Promise<SentMessage | undefined>;
  /** Whether both JIDs belong to one person, by number or LID. */
  isSamePerson(jid: string, other: string): Promise<boolean>;
  /** JIDs of a group's members; rejects when they are not available. */
  membersOf(groupJid: string): Promise<readonly string[]>;
  /** Somebody requested a message that was not sent to their chat. */
  onRefused(): void;
  log: Logger;
}

/** Finds the content of a sent message, for a device that could not decrypt it (Baileys' `getMessage`). */
export class ResendContent {
  readonly #deps: ResendContentDeps;

  constructor(deps: ResendContentDeps) {
    this.#deps = deps;
  }

  /**
   * The content of a message that was sent to the requesting chat; in a group only for a member.
   * @returns undefined for any other request, which Baileys then ignores
   */
  async find(key: WAMessageKey): Promise<proto.IMessage | undefined> {
    const { findSentMessage, onRefused, log } = this.#deps;
    if (!key.id || !key.remoteJid) return undefined;
    const sent = await findSentMessage(key.id);
    if (!sent) return undefined;
    if (await this.#wasSentTo(sent.message, key.remoteJid, key.participant)) {
      return toProto(sent.message, sent.content);
    }
    onRefused();
    log.warn(aboutOf(sent.message), 'resend refused, not requested by the chat of the message');
    return undefined;
  }

  async #wasSentTo(
    message: OutgoingMessage,
    chat: string,
    participant: string | null | undefined,
  ): Promise<boolean> {
    const { isSamePerson, membersOf } = this.#deps;
    const { to } = message;
    if (parseJid(to)?.kind !== 'group') return isSamePerson(to, chat);
    if (userOf(to) !== userOf(chat) || !participant) return false;
    try {
      for (const member of await membersOf(to)) {
        if (await isSamePerson(member, participant)) return true;
      }
    } catch (error) {
      this.#deps.log.debug({ err: error, ...aboutOf(message) }, 'group members unknown');
    }
    return false;
  }
}

function aboutOf({ accountId, to, waMessageId }: OutgoingMessage): { waMessageId: string; jidHash: string } {
  return { waMessageId, jidHash: jidHash(accountId, to) };
}

function userOf(jid: string): string | undefined {
  return jidDecode(jid)?.user;
}
