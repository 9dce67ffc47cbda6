import { randomBytes, randomUUID, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import { KeyedQueue } from '../../core/keyed-queue.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import { auditedCaller } from '../../core/ports/audit-log.ts';
import type {
  CallName,
  FirstCall,
  RepeatedCallStore,
  StoredResponse,
} from '../../core/ports/repeated-call-store.ts';
import { validate } from './form.ts';
import { HttpProblem } from './problem.ts';
import type { ApiResponse } from './response.ts';

/** An `Idempotency-Key`, as messages and operations that create something take it. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, PHRASES['field.ascii-id']);

const headers = z.object({ 'Idempotency-Key': idempotencyKey.optional() });

/** @param value of the header; absent: it was not sent @throws {HttpProblem} 400 */
export function idempotencyKeyOf(value: string | undefined): string | undefined {
  return validate(headers, { 'Idempotency-Key': value }, 'headers')['Idempotency-Key'];
}

/** What an operation says that takes an `Idempotency-Key`. */
export interface Creates {
  /** Fields of `data` of the response that are shown once: they are not stored, and the response of a repeat does not have them. */
  secrets?: readonly string[];
  /**
   * The response about what an earlier call with this `repeatId` has created, of which no response was stored. Absent: what an
   * operation creates has a name of the caller, so that it cannot be there twice.
   * @returns undefined: it has created nothing
   */
  known?(repeatId: string): Promise<ApiResponse | undefined>;
}

/** A call of an operation that creates something. */
interface CreatingCall {
  caller: Caller;
  /** The value of its header. */
  key: string;
  definition: { operationId: string; creates?: Creates };
  /** What must be the same when it is repeated. */
  given: unknown;
}

const derive = promisify<string, Uint8Array, number, Buffer>(scrypt);
const SALT_BYTES = 16;
const DIGEST_BYTES = 32;

/**
 * Makes operations safe to repeat: a call with an `Idempotency-Key` is carried out once, and its repeats get the response of
 * the first. The key is stored before the call begins. A first call that did not end, because the process or the database failed,
 * is carried out again with the same `repeatId`, from which its operation makes the ids of what it creates: it is there once.
 */
export class RepeatedCalls {
  readonly #store: RepeatedCallStore;
  /** A repeat waits for the first call when both are on this node. */
  readonly #queue = new KeyedQueue();

  constructor(store: RepeatedCallStore) {
    this.#store = store;
  }

  /**
   * @param handle carries the call out
   * @throws {HttpProblem} 409: the key was used for something else; and what `handle` throws: then the key is free again when
   *   it is an HttpProblem of the first call, and the call can be repeated when it is not
   */
  run(call: CreatingCall, handle: (repeatId: string) => Promise<ApiResponse>): Promise<ApiResponse> {
    const { creates } = call.definition;
    const name = { caller: JSON.stringify(auditedCaller(call.caller)), key: call.key };
    return this.#queue.run(JSON.stringify(name), async () => {
      const { repeatId, response, isRepeat } = await this.#first(name, call);
      const stored = response ?? (isRepeat ? await creates?.known?.(repeatId) : undefined);
      if (stored) return stored;
      try {
        const handled = await handle(repeatId);
        await this.#store.end(name, storable(handled, creates?.secrets));
        return handled;
      } catch (error) {
        // What refuses a repeat may be what its first call has made, or makes on another node.
        if (error instanceof HttpProblem && !isRepeat) await this.#store.forget(name);
        throw error;
      }
    });
  }

  async #first(
    name: CallName,
    { definition: { operationId: operation }, given }: CreatingCall,
  ): Promise<FirstCall & { isRepeat: boolean }> {
    const text = JSON.stringify(given);
    let first = await this.#store.find(name);
    if (!first) {
      const [repeatId, salt] = [randomUUID(), randomBytes(SALT_BYTES)];
      const digest = await digestOf(text, salt);
      first = await this.#store.begin(name, { operation, salt, repeatId, digest });
      if (first.repeatId === repeatId) return { ...first, isRepeat: false };
    }
    const isSame =
      first.operation === operation && (await digestOf(text, first.salt)).equals(Buffer.from(first.digest));
    if (!isSame) throw new HttpProblem(409, 'IDEMPOTENCY_CONFLICT', say('problem.idempotency-key-used'));
    return { ...first, isRepeat: true };
  }
}

/** What a call has may be a password: its digest costs as much to guess. */
const digestOf = (text: string, salt: Uint8Array) => derive(text, salt, DIGEST_BYTES);

/** What a repeat gets. */
function storable(
  { status, headers, object, json }: ApiResponse,
  secrets: readonly string[] = [],
): StoredResponse {
  const shown = JSON.parse(JSON.stringify(json ?? null));
  for (const name of secrets) delete shown?.data?.[name];
  return { status, ...(headers && { headers }), ...(object !== undefined && { object }), json: shown };
}
