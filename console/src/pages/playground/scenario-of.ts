import type { Message, Received, Sent } from '../../conversation/chat-types.ts';
import { ACCOUNT_TAG, authorOf, type PlayChat } from './people.ts';

/** The file of a message in base64; undefined when it is not stored any more. */
export type LoadFile = (message: Message) => Promise<string | undefined>;

type Step = Record<string, unknown>;

/** Numbers that wa2ai invents: a run uses new ones, so that agents remember nothing. */
const INVENTED = /^9991\d{8}$/;
const WITHIN_MS = 10_000;
const SILENCE_MS = 1_500;
/** What of an answer a scenario compares. */
const MAX_CHARS = 200;

/** A conversation as the YAML of a scenario: who wrote what, and that the account must say the same again. */
export async function scenarioOf(
  chat: PlayChat,
  messages: readonly Message[],
  loadFile: LoadFile,
): Promise<string> {
  const sorted = [...messages].sort((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1));
  const lines: string[] = [`name: ${JSON.stringify(chat.name)}`];
  if (chat.routeId !== undefined) lines.push(`route: ${JSON.stringify(chat.routeId)}`);
  if (chat.kind === 'group') lines.push(`group: ${JSON.stringify(chat.name)}`);
  const known = chat.people.filter(({ phone }) => !INVENTED.test(phone));
  if (known.length > 0) {
    const numbers = Object.fromEntries(known.map(({ name, phone }) => [name, `+${phone}`]));
    lines.push(`people: ${JSON.stringify(numbers)}`);
  }
  lines.push('steps:');
  for (const message of sorted) {
    const steps =
      message.direction === 'incoming'
        ? await writtenSteps(chat, message, sorted, loadFile)
        : saidSteps(message);
    for (const step of steps) lines.push(`  - ${inline(step)}`);
  }
  return `${lines.join('\n')}\n`;
}

async function writtenSteps(
  chat: PlayChat,
  message: Received,
  all: readonly Message[],
  loadFile: LoadFile,
): Promise<Step[]> {
  const as = authorOf(chat, message.from) ?? chat.people[0]?.name;
  if (message.kind === 'reaction') return [{ as, react: message.text }];
  if (message.reason === 'deleted') return [{ as, delete: true }];
  if (message.editOf !== undefined) return [{ as, edit: message.text }];
  const isMention = message.text.startsWith(ACCOUNT_TAG);
  const text = isMention ? message.text.slice(ACCOUNT_TAG.length).trim() : message.text;
  const data = message.media ? await loadFile(message) : undefined;
  const send = data !== undefined &&
    message.media && {
      kind: message.media.kind,
      ...(message.media.fileName !== undefined && { fileName: message.media.fileName }),
      data,
    };
  if (!send && text === '') return [];
  return [
    {
      as,
      ...(text !== '' && { say: text }),
      ...(send && { send }),
      ...(isMention && { mention: true }),
      ...(message.quotedText && { quote: quoteOf(message, all) }),
    },
    ...(message.state === 'ignored' ? [{ silence: SILENCE_MS }] : []),
  ];
}

/** `true`: the last message of the account before this one. */
function quoteOf({ id, quotedText = '' }: Received, all: readonly Message[]): true | string {
  const before = all.slice(
    0,
    all.findIndex((each) => each.id === id),
  );
  const last = before.findLast((each) => each.direction === 'outgoing');
  return last?.text === quotedText ? true : quotedText.slice(0, MAX_CHARS);
}

function saidSteps({ special, media, text, quote }: Sent): Step[] {
  if (special?.kind === 'reaction') return special.emoji ? [{ expect: { reaction: special.emoji } }] : [];
  if (special && special.kind !== 'edit') return [];
  return [
    {
      expect: {
        ...(media && { file: media.kind }),
        ...(text !== '' && { contains: text.slice(0, MAX_CHARS) }),
        ...(quote && { quotes: quote.text.slice(0, MAX_CHARS) }),
        withinMs: WITHIN_MS,
      },
    },
  ];
}

/** A value in one line of YAML. */
function inline(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{ ${fields.map(([key, each]) => `${key}: ${inline(each)}`).join(', ')} }`;
}
