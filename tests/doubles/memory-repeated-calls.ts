import type {
  CallName,
  FirstCall,
  RepeatedCallStore,
  StoredResponse,
} from '../../router/src/core/ports/repeated-call-store.ts';

/** The first call with each `Idempotency-Key` in memory, for tests. */
export class MemoryRepeatedCalls implements RepeatedCallStore {
  readonly #calls = new Map<string, FirstCall>();

  async find(name: CallName): Promise<FirstCall | undefined> {
    return this.#calls.get(JSON.stringify(name));
  }

  async begin(name: CallName, call: FirstCall): Promise<FirstCall> {
    const first = (await this.find(name)) ?? call;
    this.#calls.set(JSON.stringify(name), first);
    return first;
  }

  async end(name: CallName, response: StoredResponse): Promise<void> {
    const call = await this.find(name);
    if (call) this.#calls.set(JSON.stringify(name), { ...call, response });
  }

  async forget(name: CallName): Promise<void> {
    this.#calls.delete(JSON.stringify(name));
  }
}
