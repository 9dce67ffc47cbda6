import { z } from 'zod';
import { type ChatId, chatHash, type NodeId } from '../chat-id.ts';
import { type Clock, storageRetryMs } from '../clock.ts';
import type { ChatPlacement } from '../cluster/chat-placement.ts';
import { type NodeBus, nodeMessage } from '../cluster/node-bus.ts';
import { StorageUnavailableError } from '../errors.ts';
import { AgentElsewhereError } from '../hosting/hosting-errors.ts';
import type { ClusterView } from '../ports/cluster.ts';
import type { ChatClaim, ChatToClaim, OpenChat } from '../ports/inbox.ts';
import { Suspects } from '../suspects.ts';
import { type AnswerDeps, answerMessage, type TurnOutcome } from './answer-message.ts';
import type { PendingTurn, TurnControl, TurnWait } from './turn.ts';

/** How often a node searches for chats with unanswered messages and without a worker. */
const SWEEP_EVERY_MS = 5_000;
/** The same while a node looks dead: its chats are taken over when it has been dead for a while. */
const SWEEP_SOON_MS = 300;

/** How long aborted workers may take to hand their chats over when the service stops. */
const LAST_WRITES_MS = 5_000;

const claim = z.object({ chatId: z.string(), node: z.string(), epoch: z.number() });

/** The claim's node may have something to do in the chat; `changed`: a message of it was edited or deleted. */
const chatToServe = nodeMessage('chat', { claim, isRepeat: z.boolean(), changed: z.string().optional() });

/** The claim's node ends the call of the agent that runs in the chat. */
const turnToStop = nodeMessage('stop-turn', { claim });

interface ChatWorkersDeps extends Omit<ChatWorkerDeps, 'onTurns' | 'suspects'> {
  /** Stable name of this node: its claims outlive a restart under the same name. */
  nodeId: NodeId;
  placement: ChatPlacement;
  bus: NodeBus;
  /** Aborted by `stop` after its grace time; the `stopping` of `answer` must be its signal. */
  stopping: AbortController;
  /** How often a node searches for chats without a worker, in milliseconds. Default 5,000. */
  sweepEveryMs?: number;
}

/**
 * The chat workers of this node. Who works on a chat is one record, the claim in the chat's row (node and epoch): the
 * transaction that stores a message claims the chat, and `serve` runs its worker on the claim's node. The sweep finds
 * claims that no worker serves: those of this node's earlier process, and, on the coordinator, those of dead nodes. A claim
 * that was taken over is void, and its worker ends at its next read.
 *
 * Why not one DBOS workflow per chat, as before, which needed the record in the row too. Measured on the same machine:
 * the first message of a chat after a pause takes 10 statements instead of 25 (commits: 11 instead of 17), a message in a
 * lively chat 9.4 instead of 10.4, an idle node 2.6 statements a second instead of 9.8.
 */
export class ChatWorkers {
  readonly #deps: ChatWorkersDeps;
  /** Work of this node that may end processes; for the delivery of replies too. */
  readonly suspects: Suspects;
  readonly #workers = new Map<ChatId, { worker: ChatWorker; ended: Promise<unknown> }>();
  /** Open chats of this node that the last sweep found without a worker: their message may have just been stored. */
  #unserved = new Set<string>();
  #turns = 0;
  #isDraining = false;
  #isSweepDue = false;
  #sweepPause = new AbortController();
  #sweeping: Promise<void> | undefined;

  constructor(deps: ChatWorkersDeps) {
    this.#deps = deps;
    this.suspects = new Suspects({ clock: deps.clock, log: deps.answer.log });
    deps.bus.on(chatToServe, ({ claim, isRepeat, changed }) => {
      if (claim.node === deps.nodeId) this.serve(claim, isRepeat, { changed });
    });
    deps.bus.on(turnToStop, ({ claim }) => {
      if (claim.node === deps.nodeId) this.stopTurn(claim);
    });
  }

  /** Turns that run on this node now. */
  get turns(): number {
    return this.#turns;
  }

  /** The node that should claim a chat without a worker. */
  nodeForNextChat(): NodeId {
    return this.#deps.placement.nodeForNextChat(this.#turns);
  }

  /**
   * There may be something to do in a claimed chat: starts its worker unless it runs, or notifies the claim's node. Returns
   * immediately. A lost message to another node delays the chat until that node's next sweep.
   * @param isRepeat a crash may have interrupted the chat's first turn
   * @param stored.turn the chat's only unanswered message, which was just stored: a worker of this node need not read it
   * @param stored.changed the message that was edited or deleted
   */
  serve(claim: ChatClaim, isRepeat: boolean, stored: { turn?: PendingTurn; changed?: string } = {}): void {
    const { nodeId, bus, placement } = this.#deps;
    if (claim.node !== nodeId) {
      if (!isRepeat) placement.placed(claim.node);
      bus.publish(chatToServe({ claim, isRepeat, ...(stored.changed && { changed: stored.changed }) }));
      return;
    }
    const running = this.#workers.get(claim.chatId)?.worker;
    // A running worker finds the message before it releases the chat.
    if (running && running.claim.epoch >= claim.epoch) running.onStored(stored.changed);
    else if (!this.#isDraining) {
      // The claim of the running worker is void: its next read would end it.
      running?.drain();
      this.#run(claim, isRepeat, stored.turn);
    }
  }

  /** The person wants the answer that is made now to be stopped; without effect where no turn of the chat runs. */
  stopTurn(claim: ChatClaim): void {
    const { nodeId, bus } = this.#deps;
    if (claim.node === nodeId) this.#workers.get(claim.chatId)?.worker.stopTurn();
    else bus.publish(turnToStop({ claim }));
  }

  /** Takes a fresh view of the nodes. */
  onClusterView(view: ClusterView): void {
    if (this.#deps.placement.onClusterView(view)) this.#sweepSoon();
  }

  /** Starts workers for the chats of this node's earlier process, then sweeps until `stop`. */
  async start(): Promise<void> {
    await this.#sweep({ isFirst: true });
    this.#sweeping = this.#keepSweeping();
  }

  /**
   * Ends the workers: turns that run get `graceMs` to end, the others are aborted. Unfinished turns continue on another node
   * immediately, or here after the next start.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, stopping } = this.#deps;
    this.#isDraining = true;
    this.#sweepPause.abort();
    for (const { worker } of this.#workers.values()) worker.drain();
    const ended = Promise.all([this.#sweeping, ...[...this.#workers.values()].map((entry) => entry.ended)]);
    const isEnded = new AbortController();
    void ended.then(() => isEnded.abort());
    const untilEnded = async (atMostMs: number) => {
      try {
        await clock.sleep(atMostMs, isEnded.signal);
      } catch {
        // All workers have ended.
      }
    };
    await untilEnded(graceMs);
    stopping.abort(new Error('wa2ai is stopping'));
    await untilEnded(LAST_WRITES_MS);
  }

  /**
   * The last call of a stop, after the node receives nothing more: chats with unanswered messages are released, so that the
   * next process does not take this one for ended during their turns. Never rejects: a database that does not answer keeps
   * the claims, which then count as those of a process that ended.
   */
  async release(): Promise<void> {
    const { answer, nodeId } = this.#deps;
    await answer.inbox.releaseChats(nodeId).catch((error: unknown) => {
      answer.log.warn({ err: error }, 'chats not released');
    });
  }

  #run(claim: ChatClaim, isRepeat: boolean, turn: PendingTurn | undefined): void {
    const onTurns = (change: 1 | -1) => {
      this.#turns += change;
    };
    const worker = new ChatWorker({ ...this.#deps, onTurns, suspects: this.suspects }, claim, isRepeat, turn);
    // The former worker may still store the end of its turn again, or start the delivery of its reply.
    const former = this.#workers.get(claim.chatId)?.ended;
    this.#workers.set(claim.chatId, { worker, ended: Promise.all([former, this.#untilEnded(worker)]) });
  }

  async #untilEnded(worker: ChatWorker): Promise<void> {
    const { answer } = this.#deps;
    const { claim } = worker;
    try {
      const end = await worker.run();
      if (end.isClaimed && end.node !== undefined) await this.#handTo(end.node, claim, end.isRepeat);
      else if (end.isClaimed) await this.#handOver(claim, end.isRepeat);
    } catch (error) {
      answer.log.error({ err: error, chat: chatHash(claim.chatId) }, 'chat worker failed, restarting it');
    } finally {
      if (this.#workers.get(claim.chatId)?.worker === worker) this.#workers.delete(claim.chatId);
    }
  }

  /** The agent of the chat's first message belongs to that node: its worker runs there. */
  async #handTo(node: NodeId, claim: ChatClaim, isRepeat: boolean): Promise<void> {
    const { inbox, log } = this.#deps.answer;
    log.info({ chat: chatHash(claim.chatId), node }, 'chat handed to the node of its agent');
    for (const next of await inbox.claimChats([claim], node)) this.serve(next, isRepeat);
  }

  /** At a stop: an idle chat is released, any other goes to another node, or stays claimed for this node's next start. */
  async #handOver(claim: ChatClaim, isRepeat: boolean): Promise<void> {
    const { answer, placement } = this.#deps;
    if (!isRepeat && (await answer.inbox.nextTurn(claim)) === undefined) return;
    if (!placement.hasOthers) return;
    const node = placement.nodeForNextChat(0, Number.NEGATIVE_INFINITY);
    for (const next of await answer.inbox.claimChats([claim], node)) this.serve(next, isRepeat);
  }

  async #keepSweeping(): Promise<void> {
    const { clock, sweepEveryMs = SWEEP_EVERY_MS } = this.#deps;
    while (!this.#isDraining) {
      if (!this.#isSweepDue) {
        this.#sweepPause = new AbortController();
        await clock.sleep(sweepEveryMs, this.#sweepPause.signal).catch(() => undefined);
      } else await clock.sleep(SWEEP_SOON_MS, this.#deps.stopping.signal).catch(() => undefined);
      this.#isSweepDue = false;
      if (!this.#isDraining) await this.#sweep({ isFirst: false });
    }
  }

  #sweepSoon(): void {
    this.#isSweepDue = true;
    this.#sweepPause.abort();
  }

  /** Starts workers for open chats without one. Never rejects. */
  async #sweep({ isFirst }: { isFirst: boolean }): Promise<void> {
    const { nodeId, placement, answer } = this.#deps;
    const { inbox, log } = answer;
    try {
      const others = placement.liveNodes.filter((node) => node !== nodeId);
      const open = (await inbox.openChats(others)).filter(({ chatId }) => !this.#workers.has(chatId));
      const unserved = new Set<string>();
      const orphans = open
        .filter((chat) => this.#isOrphan(chat, isFirst, unserved))
        // A claim of this process, whose worker failed, says nothing about a process that ended.
        .map((chat) => ({ ...chat, isLeft: chat.node !== undefined && (isFirst || chat.node !== nodeId) }));
      this.#unserved = unserved;
      if (orphans.length > 0) log.warn({ chats: orphans.length }, 'restarting chat workers');
      for (const [node, chats] of this.#placed(orphans)) {
        for (const claim of await inbox.claimChats(chats, node)) this.serve(claim, true);
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot read chats without a worker, retrying');
    }
  }

  /** Whether the chat needs a new worker now; a chat that may need one at the next sweep is added to `unserved`. */
  #isOrphan({ chatId, node, epoch }: OpenChat, isFirst: boolean, unserved: Set<string>): boolean {
    const { nodeId, placement } = this.#deps;
    if (node !== nodeId && !placement.isCoordinator) return false;
    if (node !== undefined && node !== nodeId) {
      const isExpired = placement.isExpired(node);
      if (!isExpired) this.#isSweepDue = true;
      return isExpired;
    }
    const key = `${chatId} ${epoch}`;
    if (isFirst || this.#unserved.has(key)) return true;
    unserved.add(key);
    return false;
  }

  #placed(chats: readonly ChatToClaim[]): Map<NodeId, ChatToClaim[]> {
    const byNode = new Map<NodeId, ChatToClaim[]>();
    for (const [index, chat] of chats.entries()) {
      const node = this.#deps.placement.nodeForNextChat(this.#turns + index);
      if (node !== this.#deps.nodeId) this.#deps.placement.placed(node);
      byNode.set(node, [...(byNode.get(node) ?? []), chat]);
    }
    return byNode;
  }
}

interface ChatWorkerDeps {
  answer: AnswerDeps;
  clock: Clock;
  /** Turns during which processes ended. */
  suspects: Suspects;
  /** Called when a turn starts (1) and when it ends (-1). */
  onTurns(change: 1 | -1): void;
}

/**
 * How a worker ended. A chat that is still claimed may have unanswered messages; `isRepeat`: a turn was interrupted; `node`:
 * the node that has the agent of its first message.
 */
type WorkerEnd = { isClaimed: false } | { isClaimed: true; isRepeat: boolean; node?: NodeId };

/**
 * Runs the turns of one chat, one at a time, until none is left. The end of the last turn releases the chat in the same
 * transaction, so a message is either seen by that transaction or claims the chat for a new worker.
 */
export class ChatWorker {
  readonly claim: ChatClaim;
  readonly #deps: ChatWorkerDeps;
  #isRepeat: boolean;
  /** The chat's only unanswered message, as it was stored; not read since. */
  #stored: PendingTurn | undefined;
  #isDraining = false;
  readonly #control: TurnControl = {};
  /** Ends the wait of a turn for further messages. */
  #wake = new AbortController();

  /**
   * @param isRepeat a crash may have interrupted the chat's first turn
   * @param turn the chat's only unanswered message, when it was just stored: it is not read again
   */
  constructor(deps: ChatWorkerDeps, claim: ChatClaim, isRepeat: boolean, turn?: PendingTurn) {
    this.#deps = deps;
    this.claim = claim;
    this.#isRepeat = isRepeat;
    this.#stored = turn;
  }

  /** Ends the call of the agent that runs now, if its settings allow it. */
  stopTurn(): void {
    this.#control.stop?.();
  }

  /** Something was stored for the chat; `changed`: the message that it edited or deleted. */
  onStored(changed?: string): void {
    if (this.#control.stored) this.#control.stored(changed);
    else this.#control.missed?.push(changed);
    this.#wake.abort();
  }

  /** Ends the worker after the turn that runs now. */
  drain(): void {
    this.#isDraining = true;
    this.#wake.abort();
  }

  /**
   * Runs turns until the chat is released or the worker is drained. Waits as long as the database does not answer.
   * @throws what a turn threw and no repeat would change; the chat is still claimed
   */
  async run(): Promise<WorkerEnd> {
    while (!this.#isDraining) {
      this.#wake = new AbortController();
      this.#control.missed = [];
      const outcome = await this.#answer();
      if (outcome === 'stopped') return { isClaimed: true, isRepeat: true };
      if (typeof outcome === 'object' && 'untilMs' in outcome) {
        await this.#wait(outcome);
        continue;
      }
      if (typeof outcome === 'object') return { isClaimed: true, isRepeat: this.#isRepeat, ...outcome };
      if (outcome === 'released') return { isClaimed: false };
    }
    return { isClaimed: true, isRepeat: this.#isRepeat };
  }

  /** Until the time, or until something is stored for the chat. */
  async #wait({ untilMs }: TurnWait): Promise<void> {
    const { answer, clock } = this.#deps;
    const ended = AbortSignal.any([this.#wake.signal, answer.stopping]);
    await clock.sleep(Math.max(0, untilMs - clock.now()), ended).catch(() => undefined);
  }

  /** One turn. Without the database no end of a turn can be stored, so the turn waits for it. */
  async #answer(): Promise<TurnOutcome | 'stopped' | { node: NodeId }> {
    const { answer, clock, suspects, onTurns } = this.#deps;
    const { stopping, log } = answer;
    onTurns(1);
    try {
      for (let attempt = 1; ; attempt++) {
        const turn = this.#stored;
        this.#stored = undefined;
        let messageId: string | undefined;
        const onTurn = (begun: PendingTurn) => {
          messageId = begun.messageId;
        };
        try {
          const waiting = this.#wake.signal;
          const options = {
            isRepeat: this.#isRepeat,
            turn,
            onTurn,
            control: this.#control,
            suspects,
            waiting,
          };
          const outcome = await answerMessage(answer, this.claim, options);
          if (typeof outcome !== 'object') this.#isRepeat = false;
          return outcome;
        } catch (error) {
          if (stopping.aborted) return 'stopped';
          if (error instanceof AgentElsewhereError) return { node: error.nodeId };
          if (!(error instanceof StorageUnavailableError)) throw error;
          const fields = { err: error, messageId, chat: chatHash(this.claim.chatId), attempt };
          log.warn(fields, 'database unavailable, retrying turn');
          // The agent may have answered before the database failed.
          this.#isRepeat = true;
          await clock.sleep(storageRetryMs(attempt), stopping).catch(() => undefined);
        }
      }
    } finally {
      onTurns(-1);
    }
  }
}
