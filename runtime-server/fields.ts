import { RequestError } from './fault.ts';

/** Reads the fields of a JSON body; collects what is wrong with them for one answer with the status 422. */
export class Fields {
  readonly #body: Record<string, unknown>;
  readonly #problems: Array<{ type: string; loc: string[]; msg: string }> = [];

  constructor(body: unknown) {
    const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
    this.#body = isObject ? (body as Record<string, unknown>) : {};
    if (!isObject) this.#problem('dict_type', undefined, 'Input should be a valid dictionary');
  }

  text(name: string, fallback?: string): string {
    const value = this.#body[name] ?? undefined;
    if (value === undefined && fallback !== undefined && this.#body[name] !== null) return fallback;
    if (typeof value === 'string') return value;
    if (value === undefined && !(name in this.#body)) this.#problem('missing', name, 'Field required');
    else this.#problem('string_type', name, 'Input should be a valid string');
    return '';
  }

  optionalText(name: string): string | undefined {
    return (this.#body[name] ?? undefined) === undefined ? undefined : this.text(name);
  }

  flag(name: string): boolean {
    const value = this.#body[name];
    if (value === undefined || typeof value === 'boolean') return value ?? false;
    this.#problem('bool_type', name, 'Input should be a valid boolean');
    return false;
  }

  /** A number of at least 0. */
  number(name: string): number | undefined {
    const value = this.#body[name] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
    this.#problem('float_type', name, 'Input should be a valid number');
    return undefined;
  }

  choice<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const value = this.#body[name] ?? fallback;
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) {
      const list = allowed.map((word) => `'${word}'`).join(' or ');
      this.#problem('literal_error', name, `Input should be ${list}`);
    }
    return found ?? fallback;
  }

  texts(name: string): string[] {
    const value = this.#body[name] ?? [];
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
    this.#problem('list_type', name, 'Input should be a valid list of strings');
    return [];
  }

  textOrTexts(name: string): string | string[] {
    return Array.isArray(this.#body[name]) ? this.texts(name) : this.text(name);
  }

  optionalTextMap(name: string): Record<string, string> | undefined {
    const value = this.#body[name] ?? undefined;
    if (value === undefined) return undefined;
    if (
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((item) => typeof item === 'string')
    ) {
      return value as Record<string, string>;
    }
    this.#problem('dict_type', name, 'Input should be a valid dictionary of strings');
    return undefined;
  }

  /** @throws {RequestError} some field is not valid */
  check(): void {
    if (this.#problems.length > 0) throw new RequestError(422, this.#problems);
  }

  #problem(type: string, name: string | undefined, msg: string): void {
    this.#problems.push({ type, loc: ['body', ...(name === undefined ? [] : [name])], msg });
  }
}
