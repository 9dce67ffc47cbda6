import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** Notes what this process works on, for the log of one that hangs. */
export interface CurrentWork {
  /**
   * The work that continues now, such as `message 17`; until the next call. Costs about a microsecond: call it whenever work
   * continues that may take long without a pause. Never throws.
   */
  workingOn(name: string): void;
}

/** From this suspicion on a work runs alone, and ends without running again. */
const ALONE_FROM = 2;
const DEAD_FROM = 4;
/** This process must have run for so long before a work runs alone: what ends it at each start has ended it by then. */
const QUIET_MS = 15_000;
/** A work that runs alone may take so long while others wait to run alone; then it is interrupted. */
const ALONE_MS = 60_000;

/** A work that is stored while it runs, and the count of processes that ended meanwhile. Absent: none did. */
interface Suspect {
  suspicion?: number;
}

interface SuspectsDeps {
  clock: Clock;
  log: Logger;
}

/**
 * Finds the work that ends processes: the turn of a message, or the sending of a reply, that makes wa2ai hang (the watchdog then
 * ends the process), run out of memory or crash. It is open at the next start, so that it would end every process of every node.
 *
 * A process that ends without a stop leaves what it had: its claims of chats, and the leases of accounts. The statement that
 * takes these over counts: `Inbox.claimChats` for the oldest message of each chat, `AccountLeases.acquire` for the replies
 * that are `sending`. Innocent work of the same process is counted too; the suspicion decides how a work runs, so that only
 * the guilty one reaches 4:
 * - 0 and 1: immediately, with all others. The first two ends count 1 each. Most processes that end (a reboot, a full memory)
 *   were not ended by such a work, and nobody waits.
 * - 2 and 3: alone. One such work at a time runs on a node, and none before the process has run for 15 seconds; all others
 *   run meanwhile. That it runs alone is stored before, and taken back when the process survives it: it ended, waits, was
 *   interrupted, belongs to another node, or the process stops. If the process ends, that counts 2; only 1 when work of the same
 *   kind with a lower suspicion was open too, because that may be guilty.
 * - 4: a dead letter, after three ended processes, or four.
 *
 * Nothing is counted for the first beginning, so a message costs no statement more: claims and states say what began. A
 * stop releases claims and leases, so it counts nothing. A node that looked dead to others counts as ended. Innocent work
 * ends as a dead letter only if processes end in its first beginning, in its second, and in the moment in which it runs alone,
 * such as by a stanza that ends each process and is not given up yet.
 */
export class Suspects {
  readonly #deps: SuspectsDeps;
  readonly #startedMs: number;
  #running: { interrupt(): void; untilMs: number; left: AbortController } | undefined;

  constructor(deps: SuspectsDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** Whether it must run alone, or not at all. */
  isSuspect({ suspicion = 0 }: Suspect): boolean {
    return suspicion >= ALONE_FROM;
  }

  /** Whether it must not run any more. */
  isGuilty({ suspicion = 0 }: Suspect): boolean {
    return suspicion >= DEAD_FROM;
  }

  /**
   * Waits until a work may run alone.
   * @param interrupt called when it takes long while others wait
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
   * Stores that a work runs alone, runs it, and takes that back: this process lives. Call it between `enter` and its end.
   * @param fields name it in the log
   * @throws what `setAlone` throws before the work, and nothing ran; and what `work` throws
   */
  async run<T>(
    fields: Record<string, unknown> & Suspect,
    setAlone: (runsAlone: boolean) => Promise<void>,
    work: () => Promise<T>,
  ): Promise<T> {
    const { log } = this.#deps;
    log.warn(fields, 'processes ended during this, running it alone');
    await setAlone(true);
    try {
      return await work();
    } finally {
      await setAlone(false).catch((error: unknown) => {
        log.warn({ ...fields, err: error }, 'not stored that it no longer runs alone');
      });
    }
  }
}
