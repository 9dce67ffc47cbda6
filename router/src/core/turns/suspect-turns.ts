import { chatHash } from '../chat-hash.ts';
import { Wa2aiError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { PendingTurn } from './turn.ts';

/** From this suspicion on a turn runs alone, and becomes a dead letter. */
const ALONE_FROM = 2;
const DEAD_FROM = 4;
/** This process must have run for so long before a turn runs alone: what ends it at each start has ended it by then. */
const QUIET_MS = 15_000;
/** A turn that runs alone may ask its agent for so long while others wait to run alone; then it starts again, after them. */
const ALONE_MS = 60_000;

export interface SuspectTurnsDeps {
  inbox: Pick<Inbox, 'setAlone'>;
  clock: Clock;
  log: Logger;
}

/**
 * Finds the turn that ends processes: one whose message or answer makes wa2ai hang (the watchdog then ends the process), run
 * out of memory or crash. It is open at the next start, so that it would end every process of every node.
 *
 * A process that ends without a stop leaves its claims of chats. The node that takes them over counts, in the same statement
 * (`Inbox.claimChats`), for the oldest message of each chat. Innocent turns that were open in the same process are counted too;
 * the suspicion decides how a turn runs, so that only the guilty one reaches 4:
 * - 0 and 1: at once, with all others. The first two ends count 1 each. Most processes that end (a reboot, a full memory)
 *   were not ended by a turn, and nobody waits.
 * - 2 and 3: alone. One such turn at a time runs on a node, and none before the process has run for 15 seconds; all others are
 *   answered meanwhile. That it runs alone is stored before, and taken back when the process survives it: it ended, waits, was
 *   interrupted, belongs to another node, or the process stops. If the process ends, that counts 2; only 1 when turns with
 *   a lower suspicion were open too, because one of them may be guilty.
 * - 4: a dead letter (PROCESS_ENDED), after three ended processes, or four.
 *
 * Nothing is counted for the first beginning of a turn, so a message costs no statement more: its claim says that it began. A
 * stop releases the claims, so it counts nothing. A node that looked dead to others counts as ended. An innocent turn ends as
 * a dead letter only if processes end in its first beginning, in its second, and in the moment in which it runs alone.
 */
export class SuspectTurns {
  readonly #deps: SuspectTurnsDeps;
  readonly #startedMs: number;
  #running: { interrupt(): void; untilMs: number; left: AbortController } | undefined;

  constructor(deps: SuspectTurnsDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** @returns why the turn must not run any more; undefined: it may run */
  refusal({ suspicion = 0 }: PendingTurn): Wa2aiError | undefined {
    if (suspicion < DEAD_FROM) return undefined;
    return new Wa2aiError(
      'PROCESS_ENDED',
      'dead',
      'The process of wa2ai ended at least three times while it answered this message: it did not respond any more, ran out of memory or crashed.',
    );
  }

  /** Whether the turn must run alone. */
  isSuspect({ suspicion = 0 }: PendingTurn): boolean {
    return suspicion >= ALONE_FROM;
  }

  /**
   * Waits until a turn may run alone.
   * @param interrupt called when it asks its agent for long while others wait
   * @returns what ends this; undefined: `signal` aborted before
   */
  async enter(interrupt: () => void, signal: AbortSignal): Promise<(() => void) | undefined> {
    const { clock } = this.#deps;
    const pause = async (untilMs: number, ended: AbortSignal) => {
      try {
        await clock.sleep(Math.max(1, untilMs - clock.monotonicMs()), ended);
      } catch {
        // It ended before.
      }
    };
    const quietMs = this.#startedMs + QUIET_MS;
    if (clock.monotonicMs() < quietMs) await pause(quietMs, signal);
    for (;;) {
      if (signal.aborted) return undefined;
      const running = this.#running;
      if (!running) break;
      await pause(running.untilMs, AbortSignal.any([signal, running.left.signal]));
      if (running !== this.#running || clock.monotonicMs() < running.untilMs) continue;
      running.interrupt();
      running.untilMs = clock.monotonicMs() + ALONE_MS;
    }
    const left = new AbortController();
    this.#running = { interrupt, untilMs: clock.monotonicMs() + ALONE_MS, left };
    return () => {
      this.#running = undefined;
      left.abort();
    };
  }

  /**
   * Stores that the turn runs alone, runs it, and takes that back: this process lives. Call it between `enter` and its end.
   * @throws {StorageUnavailableError} it was not stored, and nothing ran; and what `work` throws
   */
  async run<T>({ messageId, chatId, suspicion }: PendingTurn, work: () => Promise<T>): Promise<T> {
    const { inbox, log } = this.#deps;
    const fields = { messageId, chat: chatHash(chatId), suspicion };
    log.warn(fields, 'processes ended during this turn, running it alone');
    await inbox.setAlone(messageId, true);
    try {
      return await work();
    } finally {
      await inbox.setAlone(messageId, false).catch((error: unknown) => {
        log.warn({ ...fields, err: error }, 'not stored that a turn no longer runs alone');
      });
    }
  }
}
