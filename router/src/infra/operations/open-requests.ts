import type { Caller } from '../../core/access/caller.ts';
import { OpenRequestsProblem } from './problem.ts';

/** Requests of one key or user that a node answers at a time: calls that wait, streams, and all others. */
export const MAX_OPEN_REQUESTS = 150;

/** Tasks of one key or user that have not ended: questions to people, messages, talks to agents. */
const MAX_OPEN_TASKS = 100;

export const TOO_MANY_TASKS = `The caller has ${MAX_OPEN_TASKS} open tasks. Wait until some end, or cancel them.`;

/** How many open tasks the caller may have; undefined: any number. Keys and users have a limit; the admin has none. */
export function maxOpenTasksOf(caller: Caller): number | undefined {
  return limitedName(caller) === undefined ? undefined : MAX_OPEN_TASKS;
}

/** Counts the requests of each key and user that this node is answering, so that waits and streams of one do not exhaust it. */
export class OpenRequests {
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request until its response closes.
   * @throws {OpenRequestsProblem} 429: the caller has too many
   */
  enter(caller: Caller, response: { once(event: 'close', listener: () => void): unknown }): void {
    const name = limitedName(caller);
    if (name === undefined) return;
    const count = this.#counts.get(name) ?? 0;
    if (count >= MAX_OPEN_REQUESTS) throw new OpenRequestsProblem(count);
    this.#counts.set(name, count + 1);
    response.once('close', () => {
      const others = (this.#counts.get(name) ?? 1) - 1;
      if (others > 0) this.#counts.set(name, others);
      else this.#counts.delete(name);
    });
  }
}

function limitedName(caller: Caller): string | undefined {
  if (caller.kind === 'key') return `key ${caller.key.id}`;
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return user && `user ${user.name}`;
}
