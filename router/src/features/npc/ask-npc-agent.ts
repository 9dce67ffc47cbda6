import type { AgentClients } from '../../core/agent-client.ts';
import { isRetryable, StorageUnavailableError, Wa2aiError } from '../../core/errors.ts';
import type { IncomingMessage, Route } from '../../core/models.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { RouteStore } from '../../core/ports/route-store.ts';
import { backoffMs } from '../../core/retry.ts';
import type { Emotion } from './emotions.ts';
import type { Memory } from './memories.ts';
import { memoryText } from './memories.ts';
import { NpcError, RPC } from './npc-error.ts';
import { type NpcTask, peerOf } from './npc-task.ts';
import type { NpcTasks } from './npc-tasks.ts';

/** Attempts while the agent does not accept the request. */
const MAX_ATTEMPTS = 3;
/** Longest answer that a task returns. */
const MAX_ANSWER_CHARS = 60_000;
const MAX_MEMORY_CHARS = 300;

export interface AskNpcAgentDeps {
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  npcTasks: Pick<NpcTasks, 'countAttempt'>;
  clock: Clock;
  /** Uniform in [0, 1). */
  random(): number;
  log: Logger;
}

/** What the agent learns beside the words of the peer. */
export interface NpcContext {
  npc: string;
  emotions: readonly Emotion[];
  memories: readonly Memory[];
}

/**
 * Asks the agent behind the route for an answer to the task, as a message of the peer.
 * @returns its text; empty when the agent chose to say nothing
 * @throws {NpcError} the agent has no answer; the log says why
 * @throws {StorageUnavailableError} safe to repeat
 * @throws the reason of `stopping`
 */
export async function askNpcAgent(
  deps: AskNpcAgentDeps,
  task: NpcTask,
  routeId: string,
  context: NpcContext,
  stopping: AbortSignal,
): Promise<string> {
  const route = await deps.routes.get(routeId);
  if (!route || route.damage !== undefined) {
    deps.log.warn({ taskId: task.taskId, routeId }, 'npc route cannot be used');
    throw new NpcError(RPC.internal, { reason: 'The agent of this NPC is not configured.' });
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await askOnce(deps, task, route, context, {
        isRepeat: attempt > 1 || task.attempts > 0,
        stopping,
      });
    } catch (error) {
      stopping.throwIfAborted();
      if (!(error instanceof Wa2aiError) || error instanceof StorageUnavailableError) throw error;
      deps.log.warn({ err: error, taskId: task.taskId, attempt }, 'agent of an npc task failed');
      if (!isRetryable(error) || attempt === MAX_ATTEMPTS) {
        throw new NpcError(
          RPC.internal,
          { reason: 'The agent of this NPC did not answer.' },
          { cause: error },
        );
      }
      await deps.clock.sleep(backoffMs({ attempt, random: deps.random }), stopping);
    }
  }
}

async function askOnce(
  { agents, npcTasks, log }: AskNpcAgentDeps,
  task: NpcTask,
  route: Route,
  context: NpcContext,
  { isRepeat, stopping }: { isRepeat: boolean; stopping: AbortSignal },
): Promise<string> {
  const message = messageOf(task, route, context);
  const { uncertain } = route.config.failure ?? {};
  const answer = await agents.clientFor(route).sendMessage(route.agentEndpoint, message, {
    signal: stopping,
    isRepeat,
    ...(uncertain && { uncertain }),
    beforeRequest: () => npcTasks.countAttempt(task.taskId),
    log,
  });
  if (!answer.success) throw new NpcError(RPC.internal, { reason: 'The agent of this NPC failed.' });
  return (answer.response ?? '').slice(0, MAX_ANSWER_CHARS);
}

/** The task as a message: its session at the agent is that of the peer. */
function messageOf(task: NpcTask, { accountId }: Route, context: NpcContext): IncomingMessage {
  const peer = peerOf(task);
  const sessionName = `npc-${nameOf(peer)}`;
  return {
    id: task.taskId,
    from: sessionName,
    channelId: sessionName,
    text: promptOf(task, context),
    timestamp: new Date(task.createdAtMs),
    accountId,
    kind: 'text',
    pushName: peer,
  };
}

/** A name of letters, digits and dashes, different for different peers. */
function nameOf(peer: string): string {
  return peer.replace(/[^A-Za-z0-9]/gu, (char) => `-${char.codePointAt(0)?.toString(16)}-`);
}

/** What the agent reads: the context in brackets, then the words of the peer. */
export function promptOf(task: NpcTask, { npc, emotions, memories }: NpcContext): string {
  const { action, message, emotion, peer: _peer, to: _to, ...others } = task.params;
  const isSocial = task.type === 'social';
  const lines = [
    `You are ${npc}. You talk to the agent ${peerOf(task)}.`,
    `It asks for: ${isSocial ? String(action) : task.type}.`,
    ...(isSocial && emotion !== undefined ? [`It feels: ${String(emotion)}.`] : []),
    ...(emotions.length > 0
      ? [
          `You feel: ${emotions.map(({ trigger, intensity }) => `${trigger} ${intensity} of 100`).join(', ')}.`,
        ]
      : []),
    ...memories.map(
      ({ memoryType, content }) =>
        `You remember (${memoryType}): ${memoryText(content).slice(0, MAX_MEMORY_CHARS)}`,
    ),
  ];
  const words = isSocial ? (message ?? action) : JSON.stringify({ action, message, emotion, ...others });
  return `[${lines.join('\n')}]\n\n${String(words)}`;
}
