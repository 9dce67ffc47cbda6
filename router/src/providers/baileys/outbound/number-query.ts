import {
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  S_WHATSAPP_NET,
  type WASocket,
} from '@whiskeysockets/baileys';
import { LookUpFailedError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { within } from '../../../core/time-limit.ts';

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
      throw new LookUpFailedError('WhatsApp refused to say whether a number has an account.', {
        cause: error,
      });
    });
  asked.catch(() => undefined);
  const answer = await within(clock, WAIT_MS, asked);
  const isOnWhatsApp = answer && numberAnswer(answer);
  if (isOnWhatsApp !== undefined) return isOnWhatsApp;
  throw new LookUpFailedError('WhatsApp did not say whether a number has an account.');
}

function numberQuery(phone: string, sid: string): BinaryNode {
  const user = node('user', {}, [{ tag: 'contact', attrs: {}, content: `+${phone}` }]);
  const content = [node('query', {}, [node('contact', {}, [])]), node('list', {}, [user])];
  const attrs = { context: 'interactive', mode: 'query', sid, last: 'true', index: '0' };
  return node('iq', { to: S_WHATSAPP_NET, type: 'get', xmlns: 'usync' }, [node('usync', attrs, content)]);
}

/**
 * Reads the answer: `in` is an account; any other word, and a list without the number, is none. Undefined: it is no answer. Whether
 * WhatsApp lists a number without an account is not known for sure.
 */
export function numberAnswer(answer: BinaryNode): boolean | undefined {
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
