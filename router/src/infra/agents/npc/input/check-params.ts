import type { Capability, CapabilityParam, ParamType } from './capabilities.ts';

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
  return new NpcInputError(`${name} is missing: ${expectation(type)}.`, name);
}

function checkedValue({ name, type }: CapabilityParam, value: unknown): unknown {
  const result = convert(type, value);
  if (result === undefined) throw new NpcInputError(`${name} must be ${expectation(type)}.`, name);
  return result;
}

/** In one phrase what a value must be. */
export function expectation(type: ParamType): string {
  if (type === 'address') return 'an Ethereum address: 0x and 40 hex digits';
  if (type === 'wei') return 'an amount in wei, a whole number such as 1000';
  if (type === 'text') return 'a text';
  if (type === 'object') return 'a text, or an object such as {"place":"gate"}';
  if ('oneOf' in type) return `one of ${type.oneOf.join(', ')}`;
  const kind = 'integer' in type ? 'a whole number' : 'a number';
  return type.max === undefined
    ? `${kind} of at least ${type.min}`
    : `${kind} from ${type.min} to ${type.max}`;
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
