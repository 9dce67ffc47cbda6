import type { IncomingMessage, MediaInfo } from '../../core/models.ts';
import { type AbiFunction, type AgentAbi, findFunction } from './abi-signature.ts';
import { AbiDefinitionError, type AbiParam, type AbiValue, shortened } from './abi-type.ts';
import { type AbiInput, AbiInputError, coerce, coerceAll, FileInput, holdsFile } from './abi-value.ts';
import { fillTemplate } from './args-template.ts';
import { type ExactJson, ExactJsonError, NumberText, parseExactJson, readToken } from './exact-json.ts';
import { commandList, functionHelp, usage } from './help-text.ts';

/** How a route turns messages into calls. */
export interface CallRules {
  abi: AgentAbi;
  /** Called for text that is no command. */
  target?: AbiFunction;
  /** Argument template; with it every text is a call of `target`. */
  args?: unknown;
}

/** A call of the agent, or what the person is told without one. */
export type Interpretation =
  /** `needsFile`: a value stands for the message's file, whose bytes must be fetched before the call can be encoded. */
  | { kind: 'call'; target: AbiFunction; values: AbiValue[]; needsFile?: true }
  | { kind: 'say'; why: 'help' | 'list' | 'mistake'; text: string };

/** What a person wrote and sent along. */
interface Said {
  text: string;
  file: FileInput | undefined;
}

/**
 * Understands a message: by the argument template when there is one; else as a command (`/add 2 40`, `/help`), as JSON,
 * or as text for the route's function. A file that the message carries goes where the template says, or is the only
 * argument of type bytes that the person left out. A person's mistake is something to say, never an error.
 * @param fileBytes the message's file, once it is fetched; without it a call that takes the file says so
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
    const isWaiting = meant.target.inputs.some(({ type }, index) => holdsFile(type, meant.values[index]));
    return isWaiting ? { ...meant, needsFile: true } : meant;
  } catch (error) {
    if (error instanceof AbiInputError) return { kind: 'say', why: 'mistake', text: sentence(error.message) };
    throw error;
  }
}

function shownFile({ mimeType, sizeBytes }: MediaInfo): string {
  return `<${mimeType}${sizeBytes === undefined ? '' : `, ${sizeBytes} bytes`}>`;
}

/** The function that a route means when it names none: the only one. */
export function only({ abi, target }: CallRules): AbiFunction | undefined {
  return target ?? (abi.functions.length === 1 ? abi.functions[0] : undefined);
}

function interpretText(rules: CallRules, said: Said): Interpretation {
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
    return callOf(target, () => argumentsOf(rules, target, said));
  } catch (error) {
    // What begins like a command and is no arguments either was meant as one.
    if (name !== undefined && error instanceof AbiInputError) return noSuchCommand(rules.abi, name);
    throw error;
  }
}

/** The call or the help that a command asks for; undefined when there is no function of that name. */
function interpretCommand(rules: CallRules, name: string, rest: Said): Interpretation | undefined {
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

/** The arguments of a function of one file and at most one text, which need no command. */
function textAndFile({ inputs }: AbiFunction, { text, file }: Said): AbiInput[] | undefined {
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

/** The functions that a command may mean: one, or the forms of a name. Phones like to begin with a capital letter. */
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

/** The form that the arguments fit; of several that fit, the route's own. */
function callCommand(
  rules: CallRules,
  forms: readonly AbiFunction[],
  rest: Said,
  isCallSyntax: boolean,
): Interpretation {
  const fitting: Array<Interpretation & { kind: 'call' }> = [];
  let firstMistake: AbiInputError | undefined;
  for (const target of forms) {
    try {
      fitting.push({ kind: 'call', target, values: argumentsOf(rules, target, rest, isCallSyntax) });
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

/** Arguments as a person writes them after a command: by position, or all at once as JSON. */
function argumentsOf(rules: CallRules, target: AbiFunction, said: Said, isCallSyntax = false): AbiValue[] {
  const { inputs } = target;
  const { codec } = rules.abi;
  const text = withoutParentheses(inputs, said.text.trim(), isCallSyntax);
  const [first] = inputs;
  if (!first) {
    if (text !== '' && text !== '[]' && text !== '{}')
      throw new AbiInputError(`/${target.name} takes no arguments`);
    return [];
  }
  const filled = said.file && withFile(inputs, text, said.file);
  if (filled) return coerceAll(inputs, filled, codec);
  if (text === '') throw wrongCount(target, 0);
  if (inputs.length === 1) return [soleArgument(first, text, codec)];
  const json = /^[[{]/.test(text) ? jsonOrNothing(text) : undefined;
  const isWhole = Array.isArray(json) ? json.length === inputs.length : json !== undefined;
  if (isWhole) return coerceAll(inputs, json, codec);
  const words = positional(inputs, text);
  if (words.length !== inputs.length) throw wrongCount(target, words.length);
  return coerceAll(inputs, words, codec);
}

/** The arguments with the message's file in the place of the one of type bytes that is not written; undefined when each is. */
function withFile(inputs: readonly AbiParam[], text: string, file: FileInput): AbiInput | undefined {
  const json = /^\{/.test(text) ? jsonOrNothing(text) : undefined;
  if (json !== undefined && inputs.length > 1) {
    const missing = inputs.filter(({ name }) => !Object.hasOwn(json as object, name));
    const [sole, ...more] = missing;
    const isForFile = sole?.type.kind === 'bytes' && sole.name !== '' && more.length === 0;
    return isForFile ? { ...(json as { [key: string]: ExactJson }), [sole.name]: file } : undefined;
  }
  const at = inputs.findIndex(({ type }) => type.kind === 'bytes');
  if (at < 0 || inputs.some(({ type }, index) => type.kind === 'bytes' && index !== at)) return undefined;
  const rest = inputs.toSpliced(at, 1);
  const words = rest.length === 0 && text === '' ? [] : positional(rest, text);
  return words.length === rest.length ? words.toSpliced(at, 0, file) : undefined;
}

/** What stands in `(2, 40)`, as programs write a call: of `/add(2, 40)` always, else unless it may be a text of its own. */
function withoutParentheses(inputs: readonly AbiParam[], text: string, isCallSyntax: boolean): string {
  const inner = /^\(([\s\S]*)\)$/.exec(text)?.[1]?.trim();
  if (inner === undefined || (inputs.length === 1 && inputs[0]?.type.kind === 'string' && !isCallSyntax))
    return text;
  const isTuple = inputs.length === 1 && inputs[0]?.type.kind === 'tuple' && !/^[[{]/.test(inner);
  return isTuple && inner !== '' ? `[${inner}]` : inner;
}

function soleArgument(input: AbiParam, text: string, codec: AgentAbi['codec']): AbiValue {
  const name = input.name || 'argument 1';
  if (input.type.kind === 'string') return coerce(input.type, unquoted(text), name, codec);
  if (input.type.kind !== 'tuple') {
    const json = text.startsWith('{') ? readJson(text) : undefined;
    const named = isNamed(json, input.name) ? json[input.name] : undefined;
    return coerce(input.type, named ?? unquoted(text), name, codec);
  }
  const value = /^[[{]/.test(text) ? readJson(text) : text;
  const { fields } = input.type;
  const isWrapped = isNamed(value, input.name) && fields.every((field) => field.name !== input.name);
  // The fields are named as the person wrote them: `age`, not `user.age`.
  return coerce(input.type, isWrapped ? value[input.name] : value, '', codec);
}

function isNamed(value: ExactJson | undefined, name: string): value is { [key: string]: ExactJson } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof NumberText) && Object.keys(value).join() === name && name !== '';
}

function unquoted(text: string): string {
  if (!/^["“„”'‘«]/.test(text)) return text;
  try {
    const { token, isQuoted, end } = readToken(text, 0);
    return isQuoted && end === text.length ? token : text;
  } catch (error) {
    if (error instanceof ExactJsonError) return text;
    throw error;
  }
}

/**
 * Splits at spaces outside quotes and brackets; a text at the end takes all that is left. Commas separate when each part
 * but the last ends with one, or when only they give the right number. Whether the number is right, the caller sees.
 */
function positional(inputs: readonly AbiParam[], text: string): AbiInput[] {
  const tokens = tokensOf(inputs, text);
  const areListed = tokens.length > 1 && tokens.slice(0, -1).every((token) => token.endsWith(','));
  if (text.includes(',') && (areListed || tokens.length !== inputs.length)) {
    const list = jsonOrNothing(`[${text}]`);
    if (Array.isArray(list) && list.length === inputs.length) return list;
  }
  return areListed
    ? tokens.map((token, at) => (at < tokens.length - 1 ? token.slice(0, -1) : token))
    : tokens;
}

function tokensOf(inputs: readonly AbiParam[], text: string): string[] {
  const endsInText = inputs.at(-1)?.type.kind === 'string';
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (endsInText && tokens.length === inputs.length - 1) {
      tokens.push(unquoted(text.slice(at)));
      break;
    }
    if (tokens.length > inputs.length) break;
    const { token, end } = tokenAt(text, at);
    tokens.push(token);
    at = end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
  }
  return tokens;
}

function tokenAt(text: string, at: number) {
  return orMistake(() => readToken(text, at));
}

function readJson(text: string): ExactJson {
  return orMistake(() => parseExactJson(text));
}

function orMistake<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ExactJsonError) throw new AbiInputError(`the input ${error.message}`);
    throw error;
  }
}

function jsonOrNothing(text: string): ExactJson | undefined {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof ExactJsonError) return undefined;
    throw error;
  }
}

function wrongCount(target: AbiFunction, got: number): AbiInputError {
  const { length } = target.inputs;
  const wanted = `${length} argument${length === 1 ? '' : 's'}`;
  const given = got > length ? `more than ${length}` : String(got);
  const orFile = target.inputs.some(({ type }) => type.kind === 'bytes') ? ', or send a file with it' : '';
  return new AbiInputError(`/${target.name} needs ${wanted}, got ${given}; write ${usage(target)}${orFile}`);
}

/** A sentence as a chat shows it: it begins with a name, which stays as it is, and ends with a full stop. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
