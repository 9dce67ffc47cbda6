import type { IncomingMessage, MediaInfo } from '../../../../core/models.ts';
import { fillText, MEDIA_VARIABLE, mapLeaves, PLACEHOLDER, soleVariable } from '../../message-template.ts';
import { type AbiFunction, type AgentAbi, findFunction } from '../codec/abi-signature.ts';
import { AbiDefinitionError, type AbiParam, type AbiValue, shortened } from '../codec/abi-type.ts';
import { coerce, coerceAll, containsPendingFile } from '../codec/abi-value.ts';
import { type AbiInput, AbiInputError, ANYTHING, FileInput } from './abi-input.ts';
import { argumentsOf, commandList, functionHelp, usage, type WrittenInput } from './parse-arguments.ts';

/** Rules by which messages of a route become calls. */
export interface CallRules {
  abi: AgentAbi;
  /** Called for text that is not a command. */
  target?: AbiFunction;
  /** Argument template; with it each text is a call of `target`. */
  args?: unknown;
}

/** A call of the agent. */
export interface Call {
  kind: 'call';
  target: AbiFunction;
  values: AbiValue[];
  /** A value represents the message's file, whose bytes must be fetched before the call can be encoded. */
  needsFile?: true;
}

/** A call of the agent, or a text that wa2ai sends instead. */
export type Interpretation = Call | { kind: 'say'; why: 'help' | 'list' | 'mistake'; text: string };

/**
 * Turns a message into a call: by the argument template when there is one, else as a command (`/add 2 40`, `/help`), as
 * JSON, or as text for the route's function. The file of a message is placed by the template, or becomes the argument of
 * type bytes that the text omits. A person's mistake is a text to send, never an exception.
 * @param fileBytes the message's file when it is fetched; without it a call that takes the file has `needsFile`
 */
export function interpret(
  rules: CallRules,
  message: IncomingMessage,
  fileBytes?: Uint8Array,
): Interpretation {
  const file = message.media && new FileInput(shownFile(message.media), fileBytes);
  try {
    const meant =
      rules.args === undefined
        ? interpretText(rules, { text: message.text, file })
        : callOf(only(rules), (target) =>
            coerceAll(target.inputs, fillTemplate(rules.args, message, file), rules.abi.codec),
          );
    if (meant.kind === 'say') return meant;
    const isWaiting = meant.target.inputs.some(({ type }, index) =>
      containsPendingFile(type, meant.values[index]),
    );
    return isWaiting ? { ...meant, needsFile: true } : meant;
  } catch (error) {
    if (error instanceof AbiInputError) return { kind: 'say', why: 'mistake', text: sentence(error.message) };
    throw error;
  }
}

function shownFile({ mimeType, sizeBytes }: MediaInfo): string {
  return `<${mimeType}${sizeBytes === undefined ? '' : `, ${sizeBytes} bytes`}>`;
}

/** The function of the route; the only function when the route names none. */
export function only({ abi, target }: CallRules): AbiFunction | undefined {
  return target ?? (abi.functions.length === 1 ? abi.functions[0] : undefined);
}

function interpretText(rules: CallRules, said: WrittenInput): Interpretation {
  const { text, file } = said;
  const [, name, rest = ''] = /^\s*\/([\w$]+)(?![^\s(])([\s\S]*)$/.exec(text) ?? [];
  const commanded = name === undefined ? undefined : interpretCommand(rules, name, { text: rest, file });
  if (commanded) return commanded;
  const sole = only(rules);
  const byKind = sole && file && textAndFile(sole, { text, file });
  if (byKind) return callOf(sole, () => coerceAll(sole.inputs, byKind, rules.abi.codec));
  const textTarget = sole && isTextOnly(sole) ? sole : undefined;
  if (textTarget) return callOf(textTarget, () => [coerceText(rules, textTarget, text)]);
  const target = /^\s*[[{]/.test(text) ? sole : rules.target;
  if (!target) {
    return name === undefined
      ? { kind: 'say', why: 'list', text: commandList(rules.abi.functions) }
      : noSuchCommand(rules.abi, name);
  }
  try {
    return callOf(target, () => argumentsOf(target, said, rules.abi));
  } catch (error) {
    // Text that begins like a command and does not fit as arguments is an unknown command.
    if (name !== undefined && error instanceof AbiInputError) return noSuchCommand(rules.abi, name);
    throw error;
  }
}

/** The call or the help that a command requests; undefined when no function has that name. */
function interpretCommand(rules: CallRules, name: string, rest: WrittenInput): Interpretation | undefined {
  const { text, file } = rest;
  const types = /^\(\S*\)(?!\S)/.exec(text)?.[0] ?? '';
  const form = types === '' ? [] : commandFunctions(rules.abi, name, types);
  if (form.length > 0) return callCommand(rules, form, { text: text.slice(types.length), file }, false);
  if (name.toLowerCase() === 'help') return help(rules.abi, text.trim());
  const found = commandFunctions(rules.abi, name, '');
  return found.length > 0 ? callCommand(rules, found, rest, text.startsWith('(')) : undefined;
}

function noSuchCommand({ functions }: AgentAbi, name: string): Interpretation {
  const text = `There is no command /${shortened(name)}.\n\n${commandList(functions)}`;
  return { kind: 'say', why: 'mistake', text };
}

function callOf(
  target: AbiFunction | undefined,
  valuesOf: (target: AbiFunction) => AbiValue[],
): Interpretation {
  if (!target) throw new AbiInputError('this chat does not know which function to call');
  return { kind: 'call', target, values: valuesOf(target) };
}

/** The arguments of a function that takes one file and at most one text; such a function needs no command. */
function textAndFile({ inputs }: AbiFunction, { text, file }: WrittenInput): AbiInput[] | undefined {
  const kinds = inputs.map(({ type }) => type.kind);
  const fits = kinds.filter((kind) => kind === 'bytes').length === 1 && kinds.length <= 2;
  if (!fits || kinds.some((kind) => kind !== 'bytes' && kind !== 'string')) return undefined;
  return kinds.map((kind) => (kind === 'bytes' ? file : text));
}

function isTextOnly({ inputs }: AbiFunction): boolean {
  return inputs.length === 1 && inputs[0]?.type.kind === 'string';
}

function coerceText({ abi }: CallRules, { inputs }: AbiFunction, text: string): AbiValue {
  const [input] = inputs as [AbiParam];
  return coerce(input.type, text, input.name || 'argument 1', abi.codec);
}

function help(abi: AgentAbi, rest: string): Interpretation {
  const name = rest.replace(/^\//, '');
  if (name === '') return { kind: 'say', why: 'help', text: commandList(abi.functions) };
  const [, word = '', types = ''] = /^([\w$]+)(\(.*\))?$/.exec(name) ?? [];
  const found = commandFunctions(abi, word, types);
  if (found.length > 0) return { kind: 'say', why: 'help', text: found.map(functionHelp).join('\n\n') };
  return noSuchCommand(abi, name);
}

/** The functions that match a command: one, or all overloads of a name. Ignores case, because phones capitalize the first letter. */
function commandFunctions(abi: AgentAbi, name: string, types: string): readonly AbiFunction[] {
  if (types !== '') {
    try {
      return [findFunction(abi, `${name}${types}`)];
    } catch (error) {
      if (error instanceof AbiDefinitionError) return [];
      throw error;
    }
  }
  const exact = abi.byName.get(name);
  if (exact) return exact;
  const lower = name.toLowerCase();
  return abi.functions.filter((candidate) => candidate.name.toLowerCase() === lower);
}

/** The overload that the arguments fit; the function of the route when several fit. */
function callCommand(
  rules: CallRules,
  forms: readonly AbiFunction[],
  rest: WrittenInput,
  isCallSyntax: boolean,
): Interpretation {
  const fitting: Call[] = [];
  let firstMistake: AbiInputError | undefined;
  for (const target of forms) {
    try {
      fitting.push({
        kind: 'call',
        target,
        values: argumentsOf(target, rest, { codec: rules.abi.codec, isCallSyntax }),
      });
    } catch (error) {
      if (!(error instanceof AbiInputError)) throw error;
      firstMistake ??= error;
    }
  }
  const [call, ...others] = fitting;
  if (!call) {
    if (forms.length === 1 && firstMistake) throw firstMistake;
    throw new AbiInputError(`that fits no form of the command; write ${forms.map(usage).join(' or ')}`);
  }
  if (others.length === 0) return call;
  const own = fitting.find(({ target }) => target === rules.target);
  if (own) return own;
  const named = fitting.map(({ target }) => `/${target.signature}`).join(' or ');
  throw new AbiInputError(`that fits several forms of the command; write ${named} before the values`);
}

/** A sentence for a chat: ends with a full stop; begins with the name of an argument, whose case does not change. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Variables with text of a person, which may become a value of any type. */
const FREE = new Set(['text', 'quotedText', 'name']);

/**
 * The template with its placeholders replaced. A text that is only a placeholder gets the type of the variable:
 * `{{timestamp}}` is a number, `{{mentions}}` a list of `{ id, tag, name }` and `{{media}}` the file.
 * @throws {AbiInputError} the template needs a file and the message has none
 */
export function fillTemplate(template: unknown, message: IncomingMessage, file?: FileInput): AbiInput {
  return mapLeaves(template, (text) => {
    if (soleVariable(text) !== MEDIA_VARIABLE) return fillText(text, message);
    if (file) return file;
    throw new AbiInputError('Please send a picture, a voice message or another file with your message');
  }) as AbiInput;
}

/** The template with typical values, and `ANYTHING` for text of a person; used to check types when a route is saved. */
export function sampleOf(template: unknown): AbiInput {
  return mapLeaves(template, (text) => {
    const isFree = [...text.matchAll(PLACEHOLDER)].some(([, name]) => FREE.has(name ?? ''));
    return isFree ? ANYTHING : fillTemplate(text, SAMPLE_MESSAGE, new FileInput('<a file>'));
  }) as AbiInput;
}

/** A message in a group: its channelId is not a number, so a template cannot rely on a number. */
const SAMPLE_MESSAGE: IncomingMessage = {
  id: '3EB0AAAAAAAAAAAAAAAAAA',
  from: '34600000000@s.whatsapp.net',
  channelId: '120363000000000000@g.us',
  text: '',
  timestamp: new Date(1_700_000_000_000),
  mentions: [{ id: '34600000000@s.whatsapp.net', tag: '@34600000000', name: 'Ana' }],
};
