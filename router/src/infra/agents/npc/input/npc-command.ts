import type { IncomingMessage } from '../../../../core/models.ts';
import { type SayInChat, sayInEnglish } from '../../../../core/policies/texts.ts';
import { type JsonTemplate, readableFields, renderJsonTemplate } from '../../json-template.ts';
import { type ExactJson, ExactJsonError, NumberText, parseExactJson, readToken } from '../../lenient-json.ts';
import { fillText, mapLeaves } from '../../message-template.ts';
import type { NpcSettings } from '../npc-settings.ts';
import { type NpcTask, phaseOf } from '../rpc/json-rpc.ts';
import {
  type Capability,
  type CapabilityParam,
  capabilityOf,
  checkedParams,
  expectation,
  NpcInputError,
  STANDARD_CAPABILITIES,
} from './capabilities.ts';

/** A task to open. */
export interface OpenCall {
  kind: 'open';
  /** A capability: `duel`, `custom:crafting`. */
  type: string;
  params: Record<string, unknown>;
}

/** What a message of a person means for an agent of the NPC Engine; `say`: a text that wa2ai sends instead of a call. */
export type NpcMeaning =
  | OpenCall
  | { kind: 'list' }
  | { kind: 'status' | 'cancel'; id: string }
  | { kind: 'say'; why: 'help' | 'mistake'; text: string };

/** How messages of a route become tasks. */
interface NpcRules {
  /** Capabilities of the card; absent: the server sent no card, and the standard ones are used. */
  capabilities?: readonly string[];
  settings: Pick<NpcSettings, 'capability' | 'params'>;
}

/**
 * Turns a message into a task, a question about tasks, or a text for the person: as a command (`/duel 0x… 1`,
 * `/duel opponent=0x… wager=1`, `/tasks`, `/task ID cancel`, `/help`), else as text for the capability of the route. A
 * person's mistake is a text to send, never an exception.
 */
export function interpretNpc(rules: NpcRules, message: IncomingMessage): NpcMeaning {
  try {
    const [, name, rest = ''] =
      /^\s*\/((?:custom:)?[A-Za-z][\w.-]*)(?!\S)([\s\S]*)$/i.exec(message.text) ?? [];
    return name === undefined ? textCall(rules, message) : command(rules, message, name, rest.trim());
  } catch (error) {
    if (error instanceof NpcInputError) return { kind: 'say', why: 'mistake', text: error.message };
    if (!(error instanceof ExactJsonError)) throw error;
    return { kind: 'say', why: 'mistake', text: `That ${error.message}.` };
  }
}

/** Capabilities that have a command. */
function capabilitiesOf({ capabilities }: NpcRules): Capability[] {
  return capabilities ? capabilities.map(capabilityOf) : [...STANDARD_CAPABILITIES];
}

function command(rules: NpcRules, message: IncomingMessage, written: string, rest: string): NpcMeaning {
  const known = capabilitiesOf(rules);
  const name = written.toLowerCase();
  if (name === 'help') return help(known, rest);
  if (name === 'tasks') return { kind: 'list' };
  if (name === 'task') return taskCommand(rest);
  const capability = capabilityNamed(known, name);
  if (!capability) return { kind: 'say', why: 'mistake', text: unknownCommand(written, known) };
  return open(rules, message, capability, argumentsOf(capability, rest));
}

function taskCommand(rest: string): NpcMeaning {
  const [id = '', action = 'status', ...more] = rest.split(/\s+/);
  const isKnown = action.toLowerCase() === 'status' || action.toLowerCase() === 'cancel';
  if (id === '' || !isKnown || more.length > 0) {
    throw new NpcInputError('Write /task and the id of the task, and cancel to stop it: /task ID cancel.');
  }
  return { kind: action.toLowerCase() === 'cancel' ? 'cancel' : 'status', id };
}

function help(known: readonly Capability[], rest: string): NpcMeaning {
  const name = rest.replace(/^\//, '').toLowerCase();
  if (name === '') return { kind: 'say', why: 'help', text: commandList(known) };
  const capability = capabilityNamed(known, name);
  const text = capability ? capabilityHelp(capability) : unknownCommand(rest, known);
  return { kind: 'say', why: capability ? 'help' : 'mistake', text };
}

function capabilityNamed(known: readonly Capability[], name: string): Capability | undefined {
  return (
    known.find(({ type }) => type.toLowerCase() === name) ??
    known.find(({ type }) => commandOf(type).toLowerCase() === name)
  );
}

function unknownCommand(name: string, known: readonly Capability[]): string {
  return `There is no command /${name.replace(/^\//, '').slice(0, 40)}.\n\n${commandList(known)}`;
}

/** A task whose parameters are those of the message, then those of the route. */
function open(
  { settings }: NpcRules,
  message: IncomingMessage,
  capability: Capability,
  given: Record<string, unknown>,
): OpenCall {
  const params = { ...filled(settings.params, message), ...given };
  try {
    return { kind: 'open', type: capability.type, params: checkedParams(capability, params) };
  } catch (error) {
    if (!(error instanceof NpcInputError) || capability.params.length === 0) throw error;
    throw new NpcInputError(`${error.message} Write ${usage(capability)}`);
  }
}

/** Text without a command, for the capability of the route. */
function textCall(rules: NpcRules, message: IncomingMessage): NpcMeaning {
  const type = rules.settings.capability ?? 'social';
  const known = rules.capabilities;
  const capability = capabilityOf(type);
  if (known && !known.includes(type)) {
    return { kind: 'say', why: 'help', text: commandList(capabilitiesOf(rules)) };
  }
  const { text } = message;
  const isTemplate = JSON.stringify(rules.settings.params ?? {}).includes('{{');
  switch (type) {
    case 'social':
      return withDefaults(rules, message, capability, { action: 'message', message: text });
    case 'emotion':
      return withDefaults(rules, message, capability, { trigger: text, intensity: 50 });
    case 'memory':
      return withDefaults(rules, message, capability, { memoryType: 'interaction', content: { text } });
    default:
      if (capability.params.length === 0) {
        return withDefaults(rules, message, capability, isTemplate ? {} : { message: text });
      }
      return open(rules, message, capability, isTemplate ? {} : argumentsOf(capability, text));
  }
}

/** As `open`, but the parameters of the route come before those of the text. */
function withDefaults(
  rules: NpcRules,
  message: IncomingMessage,
  capability: Capability,
  defaults: Record<string, unknown>,
): OpenCall {
  return open(rules, message, capability, { ...defaults, ...filled(rules.settings.params, message) });
}

function filled(params: NpcSettings['params'], message: IncomingMessage): Record<string, unknown> {
  return plain(mapLeaves(params ?? {}, (text) => fillText(text, message))) as Record<string, unknown>;
}

/** The arguments that follow a command, by the names of the specification. */
function argumentsOf(capability: Capability, text: string): Record<string, unknown> {
  if (text === '') return {};
  if (text.startsWith('{')) return named(capability, Object.entries(jsonObject(text)));
  if (/^[A-Za-z]\w*=/.test(text)) return named(capability, namedTokens(text));
  return capability.params.length === 0 ? { message: text } : positional(capability, text);
}

function jsonObject(text: string): Record<string, unknown> {
  const value = plain(parseExactJson(text));
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new NpcInputError('Write the arguments as name=value, or as one JSON object.');
}

function namedTokens(text: string): Array<[string, unknown]> {
  const entries: Array<[string, unknown]> = [];
  const start = /\s*([A-Za-z]\w*)=/y;
  for (let at = 0; at < text.trimEnd().length; ) {
    start.lastIndex = at;
    const name = start.exec(text)?.[1];
    if (name === undefined) {
      throw new NpcInputError(
        `Write every argument as name=value, and a value with spaces in quotes: name="two words".`,
      );
    }
    const { token, isQuoted, end } = readToken(text, start.lastIndex);
    entries.push([name, isQuoted ? token : scalar(token)]);
    at = end;
  }
  return entries;
}

function named(
  { type, params }: Capability,
  entries: ReadonlyArray<[string, unknown]>,
): Record<string, unknown> {
  const values = entries.map(([name, value]): [string, unknown] => {
    const lower = name.toLowerCase();
    const param = params.find(
      (known) => known.name.toLowerCase() === lower || known.aliases?.includes(lower),
    );
    if (param) return [param.name, value];
    if (params.length === 0) return [name, value];
    const names = params.map((known) => known.name).join(', ');
    throw new NpcInputError(`/${commandOf(type)} has no ${name.slice(0, 40)}; it takes ${names}.`);
  });
  return Object.fromEntries(values);
}

/** Arguments by position. A text that is not the last argument takes the rest when it is not in quotes. */
function positional(capability: Capability, text: string): Record<string, unknown> {
  const values: Array<[string, unknown]> = [];
  let at = 0;
  for (const [index, { name, type }] of capability.params.entries()) {
    const rest = text.slice(at).trimStart();
    if (rest === '') break;
    at = text.length - rest.length;
    const { token, isQuoted, end } = readToken(text, at);
    const isFree = index > 0 && (type === 'text' || type === 'object');
    if (type === 'object' && rest.startsWith('{')) values.push([name, jsonObject(token)]);
    else if (isFree && !isQuoted) {
      values.push([name, rest]);
      return Object.fromEntries(values);
    } else values.push([name, token]);
    at = end;
  }
  const extra = text.slice(at).trim();
  if (extra !== '') throw new NpcInputError(`That has more words than it needs. Write ${usage(capability)}`);
  return Object.fromEntries(values);
}

/** An unquoted value of a named argument. A number that JavaScript would round stays a text. */
function scalar(token: string): unknown {
  if (token === 'true' || token === 'false') return token === 'true';
  if (/^[[{]/.test(token)) return plain(parseExactJson(token));
  return numberOrText(token);
}

function numberOrText(token: string): number | string {
  const isExact = /^-?\d{1,15}(?:\.\d{1,6})?$/.test(token) && !/^-?0\d/.test(token);
  return isExact ? Number(token) : token;
}

/** JSON without the types that keep digits; whole seconds of a timestamp become a number. */
function plain(value: unknown): unknown {
  if (value instanceof NumberText) return numberOrText(value.text);
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value as ExactJson;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Maximum number of characters in the list of commands. */
const MAX_LIST_CHARS = 6_000;

/** Reply to `/help`: the commands of the agent, and those of wa2ai. */
function commandList(capabilities: readonly Capability[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const capability of capabilities) {
    const line = `${form(capability)}${capability.summary && ` – ${capability.summary}`}`;
    chars += line.length;
    if (chars > MAX_LIST_CHARS) break;
    lines.push(line);
  }
  const more = capabilities.length - lines.length;
  if (more > 0) lines.push(`… and ${more} more`);
  return [
    'You can write:',
    ...lines,
    '/tasks – lists the tasks of this chat',
    '/task ID – shows a task; /task ID cancel stops it',
    '/help COMMAND shows more.',
  ].join('\n');
}

/** Reply to `/help duel`. */
function capabilityHelp(capability: Capability): string {
  const { type, summary, params } = capability;
  if (params.length === 0) {
    const name = commandOf(type);
    return `/${name}\nWrite /${name} and some words, or arguments by name: /${name} item=sword quantity=2`;
  }
  const lines = params.map(
    (param) => `• ${param.name}${param.isOptional ? ' (optional)' : ''}: ${expectation(param.type).sentence}`,
  );
  return [`${form(capability)} – ${summary}`, ...lines, `Example: ${usage(capability)}`].join('\n');
}

/** An example of a command, with the arguments that it needs. */
function usage({ type, params }: Capability): string {
  const words = params.filter(({ isOptional }) => !isOptional).map(({ example }) => example);
  return [`/${commandOf(type)}`, ...words].join(' ');
}

function form({ type, params }: Capability): string {
  const shown = ({ shown: word, isOptional }: CapabilityParam) => (isOptional ? `[${word}]` : word);
  return [`/${commandOf(type)}`, ...params.map(shown)].join(' ');
}

/** Longest text of a reply; WhatsApp shows no longer message. */
const MAX_REPLY_CHARS = 60_000;
const MAX_LISTED = 20;

/** Fields of a result that are its text. */
const TEXT_FIELDS = ['message', 'response', 'text', 'reply', 'answer'] as const;

/** The reply for a completed task: by the template, else the text of its result, else its fields, one a line. */
export function completedText(
  task: NpcTask,
  template: JsonTemplate | undefined,
  sayInChat: SayInChat = sayInEnglish,
): string {
  const text = template ? renderJsonTemplate(template, task) : resultText(task, sayInChat);
  return text.slice(0, MAX_REPLY_CHARS);
}

function resultText({ taskId, result }: NpcTask, sayInChat: SayInChat): string {
  const said = textIn(result);
  if (said !== undefined) return said;
  const lines = readableFields(result).join('\n');
  return lines === '' ? sayInChat('taskDone', { task: taskId }) : lines;
}

/** A result that is a text, or has one. */
function textIn(result: unknown): string | undefined {
  if (typeof result === 'string') return result.trim() === '' ? undefined : result;
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return undefined;
  for (const field of TEXT_FIELDS) {
    const value = (result as Record<string, unknown>)[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}

/** The reply to `/task ID`. */
export function statusText(task: NpcTask, template: JsonTemplate | undefined, sayInChat?: SayInChat): string {
  const { taskId, type, status, progress } = task;
  const name = type ? `${type} ` : '';
  const share = progress === undefined || progress === null ? '' : `, ${Math.round(progress)} %`;
  const head = `${name}${taskId}: ${status}${share}`;
  if (phaseOf(task) !== 'completed') return head;
  return `${head}\n${completedText(task, template, sayInChat)}`;
}

/** The reply to `/tasks`: the newest first. */
export function taskListText(tasks: readonly NpcTask[], sayInChat: SayInChat = sayInEnglish): string {
  if (tasks.length === 0) return sayInChat('taskNone');
  const lines = tasks.slice(0, MAX_LISTED).map((task) => `• ${statusLine(task)}`);
  const more = tasks.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

function statusLine({ taskId, type, status, progress, createdAt }: NpcTask): string {
  const atMs = typeof createdAt === 'string' ? Date.parse(createdAt) : createdAt;
  const isTime = typeof atMs === 'number' && Math.abs(atMs) <= 8.64e15;
  const since = isTime ? `, since ${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC` : '';
  const share = progress === undefined || progress === null ? '' : `, ${Math.round(progress)} %`;
  return `${type ? `${type} ` : ''}${taskId}: ${status}${share}${since}`;
}

/** The command of a capability: `custom:crafting` → `crafting`. */
function commandOf(type: string): string {
  return type.replace(/^custom:/, '');
}
