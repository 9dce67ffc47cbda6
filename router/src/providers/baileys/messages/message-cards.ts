import type { ContactCard, MessageCard } from '../../../core/messages/message-card.ts';
import { MAX_NAME_CHARS, type Node, object, wholeNumber, words } from './proto-values.ts';

const MAX_TEXT_CHARS = 2_000;
const MAX_CONTACTS = 20;
const MAX_PHONES = 10;
/** WhatsApp allows twelve. */
const MAX_OPTIONS = 30;
const MAX_VCARD_CHARS = 100_000;
/** The last second that JavaScript's dates have. */
const MAX_SECONDS = 8_640_000_000_000;

/** What a message contains besides text and a file; undefined when it has nothing of the kind. Total, as `readContent`. */
export function cardOf(node: Node): MessageCard | undefined {
  for (const [key, read] of CARDS) {
    const inner = object(node[key]);
    if (inner) return read(inner);
  }
  return undefined;
}

const CARDS: Array<[string, (inner: Node) => MessageCard | undefined]> = [
  ['locationMessage', (inner) => location(inner, inner.isLive === true)],
  ['liveLocationMessage', (inner) => location(inner, true)],
  ['contactMessage', (inner) => contacts([inner])],
  ['contactsArrayMessage', ({ contacts: list }) => contacts(Array.isArray(list) ? list : [])],
  ['pollCreationMessage', poll],
  ['pollCreationMessageV2', poll],
  ['pollCreationMessageV3', poll],
  ['pollCreationMessageV5', poll],
  ['eventMessage', event],
  ['extendedTextMessage', link],
  ['buttonsResponseMessage', (inner) => choice(inner.selectedButtonId, inner.selectedDisplayText)],
  ['listResponseMessage', (inner) => choice(object(inner.singleSelectReply)?.selectedRowId, inner.title)],
  ['templateButtonReplyMessage', (inner) => choice(inner.selectedId, inner.selectedDisplayText)],
  ['interactiveResponseMessage', interactiveChoice],
];

function location(inner: Node, isLive: boolean): MessageCard | undefined {
  const { degreesLatitude: latitude, degreesLongitude: longitude } = inner;
  if (!isDegrees(latitude, 90) || !isDegrees(longitude, 180)) return undefined;
  const [name, address] = [words(inner.name, MAX_NAME_CHARS), words(inner.address, MAX_TEXT_CHARS)];
  return {
    ...{ kind: 'location', latitude, longitude },
    ...(name && { name }),
    ...(address && { address }),
    ...(isLive && { isLive: true }),
  };
}

function isDegrees(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= most;
}

function contacts(list: unknown[]): MessageCard | undefined {
  const read = list.slice(0, MAX_CONTACTS).flatMap((entry) => {
    const inner = object(entry);
    return inner ? [contactOf(inner)] : [];
  });
  return read.length > 0 ? { kind: 'contacts', contacts: read } : undefined;
}

/** Of a vCard, as WhatsApp writes it: `TEL;type=CELL;waid=34600000001:+34 600 00 00 01`. */
function contactOf({ displayName, vcard }: Node): ContactCard {
  const lines = words(vcard, MAX_VCARD_CHARS)
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/);
  const phones = lines.flatMap((line) => {
    const [, parameters = '', value = ''] = /^(?:item\d+\.)?TEL([^:]*):(.*)$/i.exec(line) ?? [];
    const phone = /;waid=(\d{5,20})/i.exec(parameters)?.[1] ?? words(value.trim(), 50);
    return phone ? [phone] : [];
  });
  const fullName = lines.map((line) => /^FN[^:]*:(.*)$/i.exec(line)?.[1]).find(Boolean);
  const name = words(displayName, MAX_NAME_CHARS) || words(fullName, MAX_NAME_CHARS);
  return { name, phones: [...new Set(phones)].slice(0, MAX_PHONES) };
}

function poll(inner: Node): MessageCard {
  const options = Array.isArray(inner.options) ? inner.options.slice(0, MAX_OPTIONS) : [];
  return {
    kind: 'poll',
    question: words(inner.name, MAX_TEXT_CHARS),
    options: options.map((option) => words(object(option)?.optionName, MAX_NAME_CHARS)).filter(Boolean),
    selectable: wholeNumber(inner.selectableOptionsCount) ?? 0,
  };
}

function event(inner: Node): MessageCard {
  const description = words(inner.description, MAX_TEXT_CHARS);
  const place = words(object(inner.location)?.name, MAX_NAME_CHARS);
  const seconds = wholeNumber(inner.startTime);
  return {
    kind: 'event',
    name: words(inner.name, MAX_NAME_CHARS),
    ...(description && { description }),
    ...(place && { place }),
    ...(seconds && seconds <= MAX_SECONDS && { startsAt: new Date(seconds * 1_000).toISOString() }),
    ...(inner.isCanceled === true && { isCanceled: true }),
  };
}

function link(inner: Node): MessageCard | undefined {
  const url = words(inner.matchedText, MAX_TEXT_CHARS);
  if (!url) return undefined;
  const [title, description] = [words(inner.title, MAX_NAME_CHARS), words(inner.description, MAX_TEXT_CHARS)];
  return { kind: 'link', url, ...(title && { title }), ...(description && { description }) };
}

function choice(id: unknown, title: unknown): MessageCard | undefined {
  const [chosen, shown] = [words(id, MAX_NAME_CHARS), words(title, MAX_NAME_CHARS)];
  if (!chosen && !shown) return undefined;
  return { kind: 'choice', id: chosen || shown, ...(shown && { title: shown }) };
}

/** The parameters are JSON with the id of the button. */
function interactiveChoice(inner: Node): MessageCard | undefined {
  return choice(parametersOf(inner)?.id, object(inner.body)?.text);
}

function parametersOf({ nativeFlowResponseMessage }: Node): Node | undefined {
  try {
    return object(JSON.parse(words(object(nativeFlowResponseMessage)?.paramsJson, MAX_VCARD_CHARS)));
  } catch {
    return undefined;
  }
}

/** Fields of an answered form that are for programs. */
const OWN_FIELDS = /^(?:id|flow_token|wa_flow_|header|description$)/;
const MAX_FIELDS = 100;

/** What a person wrote into a form: one line for each field, `name: Ann`. */
export function formText(inner: Node): string {
  const fields = Object.entries(parametersOf(inner) ?? {}).filter(([name]) => !OWN_FIELDS.test(name));
  const lines = fields.slice(0, MAX_FIELDS).flatMap(([name, value]) => {
    const list = Array.isArray(value) ? value : [value];
    const shown = list.map((one) =>
      typeof one === 'object' && one !== null ? JSON.stringify(one) : String(one ?? ''),
    );
    const text = words(shown.filter((one) => one !== '').join(', '), MAX_TEXT_CHARS);
    return text === '' ? [] : [`${words(name, MAX_NAME_CHARS)}: ${text}`];
  });
  return words(lines.join('\n'), MAX_TEXT_CHARS);
}
