import { DBOS } from '@dbos-inc/dbos-sdk';
import type { Inbox } from '../../core/ports/inbox.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { Loop } from './turn-sharing.ts';

export interface LoopSweepDeps {
  /** Stable name of this node. */
  nodeId: string;
  inbox: Pick<Inbox, 'openLoops' | 'renewLoop'>;
  /** One node alone starts what nobody runs. */
  isLookout(): boolean;
  /** The loop runs in this process, or is about to. */
  isHere(loop: Loop): boolean;
  start(loop: Loop): Promise<void>;
  log: Logger;
}

/** States of a workflow that somebody runs or will. */
const UNDER_WAY = ['PENDING', 'ENQUEUED', 'DELAYED'];
/** Loops whose states are asked for at once. */
const BATCH = 500;
/** Chats that could not be looked after in one sweep: so many, and it is the database's trouble, not theirs. */
const MOST_FAILED = 10;

type LoopStatus = Awaited<ReturnType<typeof DBOS.listWorkflows>>[number];

export function loopId({ chatId, epoch }: Loop): string {
  return `chat:${chatId}:${epoch}`;
}

/**
 * Finds chats with unanswered messages whose loop nobody runs, and starts one: a crash between commit and start, a
 * workflow that failed, or one that is noted as this process's own and does not run here. The last comes of a database
 * that went away between handing a workflow out and the answer to that: DBOS would leave it until the next restart.
 */
export class LoopSweep {
  readonly #deps: LoopSweepDeps;
  /** Loops that the last sweep found noted as running here, and not running: one may just be about to begin. */
  #stranded = new Set<string>();

  constructor(deps: LoopSweepDeps) {
    this.#deps = deps;
  }

  /** Never rejects. @param isStopping ends the sweep early */
  async run(isStopping: () => boolean): Promise<void> {
    const { inbox, isHere, log } = this.#deps;
    const stranded = new Set<string>();
    const failed: Array<{ chatId: string; error: unknown }> = [];
    try {
      const elsewhere = (await inbox.openLoops()).filter((loop) => !isHere(loop));
      for (let start = 0; start < elsewhere.length; start += BATCH) {
        const batch = elsewhere.slice(start, start + BATCH);
        const statuses = await statusesOf(batch);
        for (const loop of batch) {
          if (isStopping()) return;
          // It may have begun here meanwhile.
          if (isHere(loop)) continue;
          try {
            await this.#look(loop, statuses.get(loopId(loop)), stranded);
          } catch (error) {
            // One chat's trouble is no other's.
            failed.push({ chatId: loop.chatId, error });
            if (failed.length >= MOST_FAILED) throw error;
          }
        }
      }
      this.#stranded = stranded;
      if (failed.length === 0) return;
      const chatIds = failed.map(({ chatId }) => chatId);
      log.warn({ err: failed[0]?.error, chatIds }, 'chats could not be looked after; it is tried again');
    } catch (error) {
      log.warn({ err: error }, 'sweep for unanswered chats failed; it is tried again');
    }
  }

  async #look(loop: Loop, status: LoopStatus | undefined, stranded: Set<string>): Promise<void> {
    const { nodeId, isLookout, start } = this.#deps;
    const id = loopId(loop);
    if (status === undefined) {
      if (isLookout()) await start(loop);
    } else if (!UNDER_WAY.includes(status.status)) {
      if (isLookout()) await this.#renew(loop, status.status);
    } else if (status.status === 'PENDING' && status.executorId === nodeId) {
      if (this.#stranded.has(id)) await this.#renew(loop, 'stranded');
      else stranded.add(id);
    }
  }

  async #renew({ chatId, epoch }: Loop, status: string): Promise<void> {
    const { inbox, start, log } = this.#deps;
    const next = await inbox.renewLoop(chatId, epoch);
    log.warn({ chatId, status }, 'turn loop had ended early; a new one takes over');
    if (next !== undefined) await start({ chatId, epoch: next });
  }
}

/** By loop id; none of a loop that was never started. What a loop was started with is not read: it may be damaged. */
async function statusesOf(loops: readonly Loop[]): Promise<Map<string, LoopStatus>> {
  const found = await DBOS.listWorkflows({
    workflowIDs: loops.map(loopId),
    loadInput: false,
    loadOutput: false,
  });
  return new Map(found.map((status) => [status.workflowID, status]));
}
