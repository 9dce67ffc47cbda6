import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import type { Fetched } from '../../router/src/infra/agents/transport/bounded-fetch.ts';

/** A transport without a network: every request ends like this. */
export class AnsweringTransport extends AgentTransport {
  readonly #end: Fetched;

  constructor(end: Fetched) {
    super();
    this.#end = end;
  }

  override async fetch(): Promise<Fetched> {
    return this.#end;
  }
}
