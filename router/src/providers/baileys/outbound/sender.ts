import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  isJidGroup,
  jidDecode,
  type proto,
  S_WHATSAPP_NET,
  type WAMessageKey,
  type WASocket,
} from '@whiskeysockets/baileys';
import { jidHash, parseJid } from '../../../core/chat-id.ts';
import { type Clock, orAbort, within } from '../../../core/clock.ts';
import {
  LookUpFailedError,
  NotConnectedError,
  SendRefusedError,
  SendUncertainError,
  Wa2aiError,
} from '../../../core/errors.ts';
import { KeyedQueue } from '../../../core/keyed-queue.ts';
import type { Logger } from '../../../core/logger.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import type { SentMessage } from '../../../core/ports/outbox.ts';
import { field } from '../messages/proto-values.ts';
import {
  fileToBaileys,
  specialToBaileys,
  textToBaileys,
  toBaileys,
  toProto,
} from '../messages/to-baileys.ts';
import type { AuthState } from '../signal/auth-state.ts';

/** DisconnectReason.connectionClosed: Baileys found the socket closed before it wrote. */
const CONNECTION_CLOSED = 428;
/** Error codes of WhatsApp for a group that does not exist or that this account is not a member of. */
const REFUSING = new Set([403, 404, 406, 410]);
/** Baileys waits at most a minute for each query about devices and groups, so a send that takes longer never ends. */
const SEND_TIMEOUT_MS = 180_000;

interface SenderOptions {
  clock: Clock;
  /** A send did not end: end its connection. */
  onSendTimeout(): void;
  /** The account's record of who has the keys of groups. */
  groupKeys(): AuthState['groupKeys'] | undefined;
}

/**
 * Writes messages to an open socket. The caller sends one message of a chat at a time; chats may send in parallel. What is
 * sent to a group is encrypted and written in the order of the calls, reactions too: the first message with a group key
 * contains it, so members cannot read a later one that arrives earlier.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #running = new Set<AbortController>();
  readonly #groups = new KeyedQueue();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the bytes are written. A send of Baileys hangs for a minute when its socket ends meanwhile; this one
   * rejects when the connection ends.
   * @param content the uploaded form of a message with a file
   * @throws {NotConnectedError} {SendUncertainError} {SendRefusedError} as ChatProvider.send
   */
  async send(message: OutgoingMessage, content: Uint8Array | undefined, socket: WASocket): Promise<void> {
    try {
      await this.#write(message.to, () => write(message, content, socket));
    } catch (error) {
      throw sendError(error, message.accountId);
    }
  }

  /**
   * Resolves when the bytes of a reaction are written.
   * @throws what Baileys throws, and as `send` when the connection ends
   */
  async react(chat: string, react: { text: string; key: WAMessageKey }, socket: WASocket): Promise<void> {
    await this.#write(chat, () => socket.sendMessage(chat, { react }));
  }

  async #write(to: string, write: () => Promise<unknown>): Promise<void> {
    const { clock, onSendTimeout } = this.#options;
    const closed = new AbortController();
    this.#running.add(closed);
    const begin = () => {
      closed.signal.throwIfAborted();
      return orAbort(
        write().then(() => true),
        closed.signal,
      );
    };
    try {
      const written = isJidGroup(to)
        ? orAbort(
            this.#groups.run(to, () => this.#writeToGroup(to, begin)),
            closed.signal,
          )
        : begin();
      if (await within(clock, SEND_TIMEOUT_MS, written)) return;
      onSendTimeout();
      throw new SendUncertainError(say('send.late'));
    } finally {
      this.#running.delete(closed);
    }
  }

  async #writeToGroup(group: string, write: () => Promise<boolean>): Promise<boolean> {
    const { groupKeys } = this.#options;
    try {
      const isWritten = await write();
      groupKeys()?.written(group);
      return isWritten;
    } catch (error) {
      groupKeys()?.failed(group);
      throw error;
    }
  }

  connectionClosed(): void {
    const error = new SendUncertainError(say('send.connection-ended'));
    for (const closed of this.#running) closed.abort(error);
  }
}

async function write(
  message: OutgoingMessage,
  content: Uint8Array | undefined,
  socket: WASocket,
): Promise<void> {
  if (message.special) {
    const special = specialToBaileys(message, message.special);
    await socket.relayMessage(special.jid, special.message, special.options);
  } else if (message.media) {
    const { jid, file, options } = fileToBaileys(message, content);
    await socket.relayMessage(jid, file, options);
  } else if (message.quote || message.mentions || message.timerSeconds) {
    const { jid, file, options } = textToBaileys(message);
    await socket.relayMessage(jid, file, options);
  } else {
    const { jid, content: text, options } = toBaileys(message);
    await socket.sendMessage(jid, text, options);
  }
}

function sendError(error: unknown, accountId: string): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  if (field(field(error, 'output'), 'statusCode') === CONNECTION_CLOSED) {
    return new NotConnectedError(accountId, { cause: error });
  }
  const code = field(error, 'data');
  if (typeof code === 'number' && REFUSING.has(code)) {
    return new SendRefusedError(say('send.refused-for-chat', { code }), {
      cause: error,
    });
  }
  return new SendUncertainError(say('send.failed-after-begin'), {
    cause: error,
  });
}

interface ResendContentDeps {
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

const WAIT_MS = 10_000;

/**
 * Asks WhatsApp whether a number has an account. Baileys' `onWhatsApp` cannot be used: with it an error is a number without an account.
 * @param phone digits
 * @throws {LookUpFailedError}
 */
export async function askAboutNumber(
  phone: string,
  socket: Pick<WASocket, 'query' | 'generateMessageTag'>,
  clock: Pick<Clock, 'sleep'>,
): Promise<boolean> {
  const asked = socket
    .query(numberQuery(phone, socket.generateMessageTag()), WAIT_MS)
    .catch((error: unknown) => {
      throw new LookUpFailedError(say('send.look-up-refused'), {
        cause: error,
      });
    });
  asked.catch(() => undefined);
  const answer = await within(clock, WAIT_MS, asked);
  const isOnWhatsApp = answer && numberAnswer(answer);
  if (isOnWhatsApp !== undefined) return isOnWhatsApp;
  throw new LookUpFailedError(say('send.look-up-silent'));
}

function numberQuery(phone: string, sid: string): BinaryNode {
  const user = node('user', {}, [{ tag: 'contact', attrs: {}, content: `+${phone}` }]);
  const content = [node('query', {}, [node('contact', {}, [])]), node('list', {}, [user])];
  const attrs = { context: 'interactive', mode: 'query', sid, last: 'true', index: '0' };
  return node('iq', { to: S_WHATSAPP_NET, type: 'get', xmlns: 'usync' }, [node('usync', attrs, content)]);
}

/**
 * Reads the answer: `in` is an account; any other word, and a list without the number, is none. Undefined: it is not an answer. Whether
 * WhatsApp lists a number without an account is not known for sure.
 */
function numberAnswer(answer: BinaryNode): boolean | undefined {
  const usync = getBinaryNodeChild(answer, 'usync');
  const list = getBinaryNodeChild(usync, 'list');
  const contact = getBinaryNodeChild(getBinaryNodeChild(list, 'user'), 'contact');
  const result = getBinaryNodeChild(usync, 'result');
  const failed = [contact, getBinaryNodeChild(result, 'contact')].some(
    (each) => getBinaryNodeChildren(each, 'error').length > 0,
  );
  if (!list || failed) return undefined;
  return contact?.attrs.type === 'in';
}

function node(tag: string, attrs: Record<string, string>, content: BinaryNode[]): BinaryNode {
  return { tag, attrs, content };
}
