import { jidDecode, type proto, type WAMessageKey } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { SentMessage } from '../../../core/ports/outbox.ts';
import { toProto } from '../messages/to-baileys.ts';

export interface ResendContentDeps {
  findSentMessage(waMessageId: string): Promise<SentMessage | undefined>;
  /** Whether both JIDs belong to one person, by number or LID. */
  isSamePerson(jid: string, other: string): Promise<boolean>;
  /** JIDs of a group's members; rejects when they are not available. */
  membersOf(groupJid: string): Promise<readonly string[]>;
  log: Logger;
}

/** Finds the content of a sent message, for a device that could not decrypt it (Baileys' `getMessage`). */
export class ResendContent {
  readonly #deps: ResendContentDeps;
  #refused = 0;

  constructor(deps: ResendContentDeps) {
    this.#deps = deps;
  }

  /**
   * The content of a message that was sent to the requesting chat; in a group only for a member.
   * @returns undefined for any other request, which Baileys then ignores
   */
  async find(key: WAMessageKey): Promise<proto.IMessage | undefined> {
    const { findSentMessage, log } = this.#deps;
    if (!key.id || !key.remoteJid) return undefined;
    const sent = await findSentMessage(key.id);
    if (!sent) return undefined;
    if (await this.#wasSentTo(sent.message.to, key.remoteJid, key.participant)) {
      return toProto(sent.message, sent.content);
    }
    this.#refused += 1;
    log.warn(
      { waMessageId: key.id, refused: this.#refused },
      'resend refused, not requested by the chat of the message',
    );
    return undefined;
  }

  async #wasSentTo(to: string, chat: string, participant: string | null | undefined): Promise<boolean> {
    const { isSamePerson, membersOf } = this.#deps;
    if (parseJid(to)?.kind !== 'group') return isSamePerson(to, chat);
    if (userOf(to) !== userOf(chat) || !participant) return false;
    try {
      for (const member of await membersOf(to)) {
        if (await isSamePerson(member, participant)) return true;
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'group members unknown');
    }
    return false;
  }
}

function userOf(jid: string): string | undefined {
  return jidDecode(jid)?.user;
}
