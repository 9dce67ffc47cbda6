import { type Said, say } from '../../../../core/phrases.ts';

/** What a value of a parameter must be, as the specification of the NPC Engine says. */
type ParamType =
  | 'address'
  | 'wei'
  | 'text'
  | 'object'
  | { oneOf: readonly string[] }
  | { integer: true; min: number; max?: number }
  | { number: true; min: number; max: number };

/** One parameter of a capability. */
export interface CapabilityParam {
  /** As the specification names it. */
  name: string;
  type: ParamType;
  isOptional?: true;
  /** Other names that people write. */
  aliases?: readonly string[];
  /** Placeholder in the help: `OPPONENT`. */
  shown: string;
  example: string;
}

/** A capability of the specification, with its parameters in the order of the command. */
export interface Capability {
  /** Name on the card and type of the task. */
  type: string;
  summary: string;
  params: readonly CapabilityParam[];
}

const address = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';

/** The capabilities of the specification; every other one is custom. */
export const STANDARD_CAPABILITIES: readonly Capability[] = [
  {
    type: 'duel',
    summary: 'fights against an opponent for a wager',
    params: [
      { name: 'opponent', type: 'address', shown: 'OPPONENT', example: address },
      { name: 'wager', type: 'wei', shown: 'WAGER', example: '1000' },
      {
        name: 'tokenAddress',
        type: 'address',
        isOptional: true,
        aliases: ['token'],
        shown: 'TOKEN',
        example: address,
      },
    ],
  },
  {
    type: 'quest',
    summary: 'starts a quest',
    params: [
      { name: 'questId', type: 'text', aliases: ['id', 'quest'], shown: 'ID', example: 'dragon_slayer_001' },
      {
        name: 'difficulty',
        type: { oneOf: ['easy', 'medium', 'hard', 'legendary'] },
        shown: 'DIFFICULTY',
        example: 'hard',
      },
      { name: 'reward', type: 'wei', shown: 'REWARD', example: '5000' },
      {
        name: 'timeLimit',
        type: { integer: true, min: 1 },
        aliases: ['seconds', 'time'],
        shown: 'SECONDS',
        example: '3600',
      },
    ],
  },
  {
    type: 'trade',
    summary: 'offers an exchange of items',
    params: [
      { name: 'item', type: 'text', shown: 'ITEM', example: 'sword' },
      { name: 'quantity', type: { integer: true, min: 1 }, shown: 'QUANTITY', example: '2' },
      { name: 'price', type: 'wei', shown: 'PRICE', example: '1000' },
      {
        name: 'currency',
        type: 'address',
        isOptional: true,
        aliases: ['token'],
        shown: 'CURRENCY',
        example: address,
      },
    ],
  },
  {
    type: 'social',
    summary: 'greets, helps, gives or says something',
    params: [
      { name: 'action', type: 'text', shown: 'ACTION', example: 'greet' },
      { name: 'message', type: 'text', isOptional: true, shown: 'MESSAGE', example: 'Hello!' },
      { name: 'emotion', type: 'text', isOptional: true, shown: 'EMOTION', example: 'happy' },
    ],
  },
  {
    type: 'emotion',
    summary: 'triggers a feeling',
    params: [
      { name: 'trigger', type: 'text', shown: 'TRIGGER', example: 'gift' },
      { name: 'intensity', type: { number: true, min: 0, max: 100 }, shown: 'INTENSITY', example: '80' },
      { name: 'context', type: 'object', isOptional: true, shown: 'CONTEXT', example: '{"item":"ring"}' },
    ],
  },
  {
    type: 'memory',
    summary: 'remembers something',
    params: [
      {
        name: 'memoryType',
        type: { oneOf: ['interaction', 'relationship', 'event'] },
        aliases: ['type'],
        shown: 'TYPE',
        example: 'event',
      },
      { name: 'content', type: 'object', shown: 'CONTENT', example: '"we met at the gate"' },
      {
        name: 'importance',
        type: { number: true, min: 0, max: 100 },
        isOptional: true,
        shown: 'IMPORTANCE',
        example: '50',
      },
    ],
  },
];

/** The description of a capability of a card; a custom one has no known parameters. */
export function capabilityOf(type: string): Capability {
  return (
    STANDARD_CAPABILITIES.find((capability) => capability.type === type) ?? { type, summary: '', params: [] }
  );
}

/** A mistake in the parameters of a task: one friendly sentence that begins with the parameter's name. */
export class NpcInputError extends Error {
  /** The parameter; absent when the mistake is not about one. */
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/**
 * The parameters of a task, checked against the specification and in its types: amounts as decimal texts, counts as numbers.
 * Fields that the specification does not name pass unchanged; parameters of a custom capability are not checked.
 * @param isStrict an object must be one, as the specification says; else a text, as people write it, becomes `{ text }`
 * @throws {NpcInputError} one is missing, or is not of its type
 */
export function checkedParams(
  { params }: Capability,
  given: Readonly<Record<string, unknown>>,
  isStrict = false,
): Record<string, unknown> {
  const checked: Record<string, unknown> = { ...given };
  for (const param of params) {
    const value = given[param.name];
    if (value === undefined || value === null || value === '') {
      if (!param.isOptional) throw missing(param);
      delete checked[param.name];
      continue;
    }
    if (isStrict && param.type === 'object' && typeof value !== 'object') {
      throw new NpcInputError(`${param.name} must be an object such as {"place":"gate"}.`, param.name);
    }
    checked[param.name] = checkedValue(param, value);
  }
  return checked;
}

function missing({ name, type }: CapabilityParam): NpcInputError {
  return new NpcInputError(`${name} is missing: ${expectation(type).sentence}.`, name);
}

function checkedValue({ name, type }: CapabilityParam, value: unknown): unknown {
  const result = convert(type, value);
  if (result === undefined) throw new NpcInputError(`${name} must be ${expectation(type).sentence}.`, name);
  return result;
}

/** In one phrase what a value must be. */
export function expectation(type: ParamType): Said {
  if (type === 'address') return say('param.address');
  if (type === 'wei') return say('param.wei');
  if (type === 'text') return say('param.text');
  if (type === 'object') return say('param.object', { example: '{"place":"gate"}' });
  if ('oneOf' in type) return say('param.one-of', { values: type.oneOf.join(', ') });
  const kind = 'integer' in type ? 'whole' : 'number';
  return type.max === undefined
    ? say(`param.${kind}-from`, { min: type.min })
    : say(`param.${kind}-from-to`, { min: type.min, max: type.max });
}

const MAX_UINT256 = 2n ** 256n - 1n;
const MAX_TEXT_CHARS = 10_000;

/** The value in the type; undefined when it does not fit. */
function convert(type: ParamType, value: unknown): unknown {
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  if (type === 'object') {
    if (typeof text === 'string') return text.length <= MAX_TEXT_CHARS ? { text } : undefined;
    return typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  }
  if (typeof text !== 'string') return undefined;
  const trimmed = text.trim();
  if (type === 'text') return trimmed.length > 0 && trimmed.length <= MAX_TEXT_CHARS ? trimmed : undefined;
  if (type === 'address') return /^0x[0-9a-fA-F]{40}$/.test(trimmed) ? trimmed : undefined;
  if (type === 'wei') {
    if (!/^\d{1,78}$/.test(trimmed) || BigInt(trimmed) > MAX_UINT256) return undefined;
    return BigInt(trimmed).toString();
  }
  if ('oneOf' in type) return type.oneOf.find((option) => option === trimmed.toLowerCase());
  const form = 'integer' in type ? /^\d{1,15}$/ : /^\d{1,15}(?:\.\d{1,6})?$/;
  if (!form.test(trimmed)) return undefined;
  const number = Number(trimmed);
  return number >= type.min && number <= (type.max ?? Infinity) ? number : undefined;
}
