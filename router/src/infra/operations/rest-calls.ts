import { type CallerAdmission, RESTRICTIONS } from '../../core/access/admission.ts';
import type { Caller } from '../../core/access/caller.ts';
import type { Endpoint } from './endpoint.ts';
import { admit } from './guard.ts';
import { validate } from './validate.ts';

/** The parts of a call; what is undefined counts as not sent. */
export interface RestCallInput {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: Record<string, unknown>;
  /** By lower-case name. */
  headers?: Record<string, string | undefined>;
  /** Aborts when nobody waits for the result any more. Default: never. */
  signal?: AbortSignal;
}

/** Body of the response, as it is on the wire (`{}`: it has none), and the id of what was read or changed. */
export interface RestCallResult {
  json: Record<string, unknown>;
  object?: string;
}

/** Operations of the REST API for another face of this process, with the same checks. The other face records the call. */
export class RestCalls {
  readonly #endpoints: () => readonly Endpoint[];
  #byId: ReadonlyMap<string, Endpoint> | undefined;

  /** @param endpoints the operations, read at the first use: some of them may use these calls */
  constructor(endpoints: () => readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  /** Whom all of these operations let in. */
  admissionOf(...operationIds: string[]): CallerAdmission {
    const all = operationIds.map((id) => this.#operation(id));
    const [first, ...others] = all.flatMap(({ scopes }) => (typeof scopes === 'string' ? [] : scopes));
    const honours = RESTRICTIONS.filter((each) =>
      all.every(({ honours }) => honours?.includes(each) ?? true),
    );
    return { scopes: first === undefined ? 'any-key' : [first, ...others], honours };
  }

  /** @throws what the operation throws, {HttpProblem} for a mistake of the caller */
  async call(operationId: string, caller: Caller, input: RestCallInput = {}): Promise<RestCallResult> {
    const operation = this.#operation(operationId);
    admit(caller, operation);
    const { params = {}, headers = {}, signal = new AbortController().signal } = input;
    const query = Object.fromEntries(
      Object.entries(input.query ?? {}).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    );
    const { json, object } = await operation.handle({
      params,
      query: operation.query && validate(operation.query, query, 'query'),
      body: operation.body && validate(operation.body, withoutUndefined(input.body ?? {}), 'body'),
      caller,
      header: (name) => headers[name],
      signal,
    });
    return {
      json: json === undefined ? {} : JSON.parse(JSON.stringify(json)),
      ...((object ?? params.id) !== undefined && { object: object ?? params.id }),
    };
  }

  #operation(operationId: string): Endpoint {
    this.#byId ??= new Map(this.#endpoints().map((endpoint) => [endpoint.operationId, endpoint]));
    const operation = this.#byId.get(operationId);
    if (!operation) throw new TypeError(`there is no operation ${operationId}`);
    return operation;
  }
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
