import { words } from './proto-values.ts';

/** Values of proto.WebMessageInfo.StubType: what Baileys makes of WhatsApp's notifications about a group. */
const CHANGE_SUBJECT = 21;
const PARTICIPANT_INVITE = 31;
const PARTICIPANT_LEAVE = 32;
const VERBS: Readonly<Record<number, string>> = {
  27: 'added',
  28: 'removed',
  29: 'gave the rights of an admin to',
  30: 'took the rights of an admin from',
};
const EVENTS: ReadonlySet<number> = new Set([CHANGE_SUBJECT, PARTICIPANT_INVITE, PARTICIPANT_LEAVE]);
/** Of an event that concerns more, the others are counted. */
const MAX_PEOPLE = 10;
const MAX_SUBJECT_CHARS = 200;

/** Whether it is an event that has a text. */
export function isGroupEvent(stub: unknown): boolean {
  return typeof stub === 'number' && (stub in VERBS || EVENTS.has(stub));
}

/**
 * What a member did with a group, as an agent can read it behind the member's name: `added +5493777239922`, `left the group`.
 * Pure; undefined for other events.
 * @param stub `messageStubType`
 * @param parameters `messageStubParameters`: people as JSON of `{id, phoneNumber?, lid?}`, or the new name of the group
 * @param nameOf a person as text, by all JIDs that the event has
 */
export function groupEventText(
  stub: unknown,
  parameters: unknown,
  nameOf: (jids: unknown[]) => string,
): string | undefined {
  const given = Array.isArray(parameters) ? parameters : [];
  if (stub === CHANGE_SUBJECT) return `named the group "${words(given[0], MAX_SUBJECT_CHARS)}"`;
  if (stub === PARTICIPANT_INVITE) return 'joined the group by its link';
  if (stub === PARTICIPANT_LEAVE) return 'left the group';
  const verb = typeof stub === 'number' ? VERBS[stub] : undefined;
  if (verb === undefined || given.length === 0) return undefined;
  const people = given.slice(0, MAX_PEOPLE).map((parameter) => nameOf(jidsOf(parameter)));
  const more = given.length > MAX_PEOPLE ? [`${given.length - MAX_PEOPLE} more`] : [];
  return `${verb} ${[...people, ...more].join(', ')}`;
}

function jidsOf(parameter: unknown): unknown[] {
  if (typeof parameter !== 'string') return [];
  try {
    const { id, phoneNumber, lid } = JSON.parse(parameter) as Record<string, unknown>;
    return [id, phoneNumber, lid];
  } catch {
    return [parameter];
  }
}
