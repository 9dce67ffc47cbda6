import type { AgentClient, AgentClients, AttemptOptions } from '../../router/src/core/agent-client.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../router/src/core/models.ts';
import type { SeededRandom } from '../crash/random.ts';
import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import type { SimProcess } from './sim-process.ts';

/** How the agent of one simulation behaves; shares of 1. */
interface Temper {
  longestMs: number;
  refuses: number;
  loses: number;
  fails: number;
  saysNothing: number;
}

const CLIENT_TIMEOUT_MS = 30_000;

/** The text with which the agent answers; its run tells two answers to one message apart. */
function answerTo(text: string, run: number): string {
  return `Echo: ${text} (run ${run})`;
}

/** The text that the agent answered with this one. */
export function textAnsweredBy(reply: string): string {
  return reply.replace(/^Echo: /, '').replace(/ \(run \d+\)$/, '');
}

/** One agent that echoes texts and pictures, sometimes slowly, sometimes not at all, and remembers its answers. */
export class SimAgent {
  readonly #log: EventLog;
  readonly #faults: Faults;
  readonly #random: SeededRandom;
  readonly #temper: Temper;
  /** Runs and the last answer, by message id. */
  readonly #runs = new Map<string, { count: number; answer: AgentResponse }>();
  isAway = false;
  /** Whether the answer to a text ends the process that gets it, every time. */
  readonly isPoison: (text: string) => boolean;

  constructor(deps: {
    log: EventLog;
    faults: Faults;
    random: SeededRandom;
    isPoison: (text: string) => boolean;
  }) {
    this.isPoison = deps.isPoison;
    this.#log = deps.log;
    this.#faults = deps.faults;
    this.#random = deps.random;
    this.#temper = {
      longestMs: this.#random.oneOf([50, 1_000, 4_000]),
      refuses: this.#random.oneOf([0, 0.05, 0.3]),
      loses: this.#random.oneOf([0, 0.02, 0.1]),
      fails: this.#random.oneOf([0, 0.02]),
      saysNothing: this.#random.oneOf([0, 0.05]),
    };
  }

  /** The agent as one process reaches it. */
  clients(process: SimProcess): AgentClients {
    const client: AgentClient = {
      sendMessage: (_endpoint, message, options) => this.#ask(process, message, options),
    };
    return { clientFor: () => client, endpointOf: (route) => route.agentEndpoint };
  }

  /** A picture is loaded before the request, as the ABI and ADK clients do it, and comes back with the answer. */
  async #ask(
    process: SimProcess,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const known = !process.isDead && options.isRepeat ? this.#runs.get(message.id) : undefined;
    if (known) {
      this.#log.add('agent', `finds its answer to ${message.id}`);
      const { effects } = this.#faults;
      return new Promise((resolve) =>
        process.after(this.#faults.networkMs(), () =>
          this.isPoison(message.text) ? effects.kill(process) : resolve(known.answer),
        ),
      );
    }
    const bytes = message.media && (await options.loadMedia?.());
    await options.beforeRequest?.();
    return this.#request(process, message, bytes);
  }

  #request(
    process: SimProcess,
    message: IncomingMessage,
    bytes: Uint8Array | undefined,
  ): Promise<AgentResponse> {
    const { longestMs, refuses, loses, fails, saysNothing } = this.#temper;
    const faults = this.#faults;
    return new Promise((resolve, reject) => {
      if (process.isDead) return;
      const fail = (afterMs: number, error: Error) => process.after(afterMs, () => reject(error));
      if (this.isAway || faults.happens(refuses)) {
        fail(
          faults.networkMs(),
          new AgentUnavailableError({ sentence: 'The agent cannot be reached.' }, { isAway: true }),
        );
        return;
      }
      const isLost = faults.happens(loses);
      const hasFailed = faults.happens(fails);
      const isSilent = faults.happens(saysNothing);
      process.after(5 + this.#random.next() * longestMs, () => {
        const count = (this.#runs.get(message.id)?.count ?? 0) + 1;
        const answer: AgentResponse = {
          success: true,
          response: isSilent ? '' : answerTo(message.text, count),
          ...(bytes && !isSilent && { files: [{ kind: 'image', mimeType: 'image/jpeg', bytes }] }),
        };
        this.#runs.set(message.id, { count, answer });
        this.#log.add('agent', `answers ${message.id} of ${process.name}, run ${count}`);
        if (this.isPoison(message.text)) this.#faults.effects.kill(process);
        else if (isLost)
          fail(CLIENT_TIMEOUT_MS, new AgentTimeoutError({ sentence: 'The agent did not answer in time.' }));
        else if (hasFailed) fail(0, new AgentProtocolError({ sentence: 'The agent failed.' }));
        else resolve(answer);
      });
    });
  }
}
