import { canonicalChannelId } from '../chat-id.ts';
import type { ErrorCode } from '../errors.ts';
import type { IncomingMessage } from '../models.ts';
import { type Said, say } from '../phrases.ts';

/** Phases of a hosted agent, as the API shows them. */
export const AGENT_PHASES = [
  'absent',
  'pulling',
  'creating',
  'starting',
  'ready',
  'busy',
  'stopping',
  'stopped',
  'failed',
] as const;
export type AgentPhase = (typeof AGENT_PHASES)[number];

/** More starts than this within the window are a crash loop. */
const MAX_STARTS = 3;
const START_WINDOW_MS = 300_000;

/** Why an agent does not run. */
export interface AgentProblem extends Said {
  code: ErrorCode;
  /** The same start fails again. */
  isFinal: boolean;
}

/** The life of one agent on its node. */
export interface AgentLife {
  phase: AgentPhase;
  /** Requests that wait for the agent. */
  waiting: number;
  /** Requests that the agent works on. */
  running: number;
  /** The agent says that it works, although no request runs. */
  saysBusy: boolean;
  /** The container may have ended, or have another port: it is looked at before the next request. */
  isInDoubt: boolean;
  /** End of the last request, or the last start. */
  lastActivityMs: number;
  /** Starts within the window, oldest first. */
  startsMs: readonly number[];
  problem?: AgentProblem;
}

/** What happened to an agent. Each effect is followed by exactly one event with its result, or by `failed`. */
export type AgentEvent =
  | { kind: 'request'; nowMs: number }
  | { kind: 'request-ended'; nowMs: number }
  | { kind: 'canceled' }
  /** Result of `find`. */
  | { kind: 'found'; instance: 'none' | 'outdated' | 'stopped' | 'running'; hasImage: boolean; nowMs: number }
  | { kind: 'pulled' }
  | { kind: 'removed' }
  | { kind: 'created'; nowMs: number }
  /** Result of `start` and `wait`. */
  | { kind: 'ready'; nowMs: number }
  /** `leaves`: what was made so far has to be removed. */
  | { kind: 'failed'; problem: AgentProblem; leaves: boolean }
  | { kind: 'stopped' }
  | { kind: 'changed' }
  | { kind: 'says-busy'; isBusy: boolean; nowMs: number }
  /** An operator starts the agent: a crash loop is over. */
  | { kind: 'forgiven' }
  | { kind: 'tick'; nowMs: number; idleMs: number }
  /** An operator, the limit of the node, or the end of the service. */
  | { kind: 'stop' };

/** What the runner does next, one after the other; `deliver` and `reject` end immediately. */
export type AgentEffect =
  | { do: 'find' }
  | { do: 'pull' }
  /** Removes an outdated instance. */
  | { do: 'remove' }
  /** Removes what a failed start left. It needs no event. */
  | { do: 'clean-up' }
  | { do: 'create' }
  /** Starts the instance, and waits until it answers. */
  | { do: 'start' }
  /** Waits until a running instance answers. */
  | { do: 'wait' }
  | { do: 'stop' }
  /** Gives the waiting requests to the agent. */
  | { do: 'deliver' }
  /** Fails the waiting requests. */
  | { do: 'reject'; problem: AgentProblem };

interface AgentStep {
  life: AgentLife;
  effects: AgentEffect[];
}

export function newAgentLife(nowMs: number, phase: 'absent' | 'stopped' = 'absent'): AgentLife {
  return {
    ...{ phase, waiting: 0, running: 0, saysBusy: false, isInDoubt: false },
    ...{ lastActivityMs: nowMs, startsMs: [] },
  };
}

/** Whether the agent uses memory and a processor of its node, or is about to. */
export function isUp({ phase }: AgentLife): boolean {
  return phase !== 'absent' && phase !== 'stopped' && phase !== 'failed';
}

/** Whether the agent can be stopped without loss: it runs, and nobody waits for it. */
export function isIdle({ phase, running, waiting, saysBusy }: AgentLife): boolean {
  return phase === 'ready' && running === 0 && waiting === 0 && !saysBusy;
}

/**
 * The life cycle of one hosted agent. Requests wait while it starts or stops, and are given to it when it answers. It is
 * never stopped for being idle while it works. A start that fails leaves no container, and rejects who waits.
 */
export function agentLife(life: AgentLife, event: AgentEvent): AgentStep {
  switch (event.kind) {
    case 'request':
      return onRequest({ ...life, waiting: life.waiting + 1, lastActivityMs: event.nowMs });
    case 'canceled':
      return { life: { ...life, waiting: Math.max(0, life.waiting - 1) }, effects: [] };
    case 'request-ended': {
      const running = Math.max(0, life.running - 1);
      const next = { ...life, running, lastActivityMs: event.nowMs };
      return { life: { ...next, phase: runningPhase(next) }, effects: [] };
    }
    case 'found':
      return onFound(life, event);
    case 'pulled':
      return life.phase === 'pulling' ? to(life, 'creating', { do: 'create' }) : same(life);
    case 'removed':
      return life.phase === 'creating' ? to(life, 'creating', { do: 'create' }) : same(life);
    case 'created':
      return life.phase === 'creating' ? started(life, { do: 'start' }, event.nowMs) : same(life);
    case 'ready':
      return onReady(life, event.nowMs);
    case 'failed':
      return onFailed(life, event.problem, event.leaves);
    case 'forgiven':
      return { life: { ...life, startsMs: [] }, effects: [] };
    case 'stopped':
      return onStopped(life);
    case 'changed':
      return { life: { ...life, isInDoubt: life.phase === 'ready' || life.phase === 'busy' }, effects: [] };
    case 'says-busy': {
      // The time without work begins when the work ends.
      const hasEnded = life.saysBusy && !event.isBusy;
      const lastActivityMs = hasEnded ? event.nowMs : life.lastActivityMs;
      const next = { ...life, saysBusy: event.isBusy, lastActivityMs };
      return { life: { ...next, phase: runningPhase(next) }, effects: [] };
    }
    case 'tick': {
      const isOver = event.nowMs - life.lastActivityMs >= event.idleMs;
      return isOver && isIdle(life) ? to(life, 'stopping', { do: 'stop' }) : same(life);
    }
    case 'stop':
      return life.phase === 'ready' || life.phase === 'busy'
        ? to(life, 'stopping', { do: 'stop' })
        : same(life);
  }
}

function onRequest(life: AgentLife): AgentStep {
  switch (life.phase) {
    case 'ready':
    case 'busy':
      // The phase in which an instance is looked at, whatever it did before.
      if (life.isInDoubt && life.running === 0) return to(life, 'starting', { do: 'find' });
      return delivered(life);
    case 'absent':
    case 'stopped':
    case 'failed':
      return to({ ...life, problem: undefined }, 'starting', { do: 'find' });
    default:
      return same(life);
  }
}

function onFound(life: AgentLife, event: AgentEvent & { kind: 'found' }): AgentStep {
  if (life.phase !== 'starting') return same(life);
  const { instance, hasImage, nowMs } = event;
  if (instance === 'running') return to({ ...life, isInDoubt: false }, 'starting', { do: 'wait' });
  if (instance === 'stopped') return started(life, { do: 'start' }, nowMs);
  if (!hasImage) return to(life, 'pulling', { do: 'pull' });
  if (instance === 'outdated') return to(life, 'creating', { do: 'remove' });
  return to(life, 'creating', { do: 'create' });
}

/** A start, unless the agent is in a crash loop. */
function started(life: AgentLife, effect: AgentEffect, nowMs: number): AgentStep {
  const startsMs = [...life.startsMs.filter((atMs) => nowMs - atMs < START_WINDOW_MS), nowMs];
  if (startsMs.length <= MAX_STARTS) {
    return to({ ...life, startsMs, isInDoubt: false, lastActivityMs: nowMs }, 'starting', effect);
  }
  const said = say('hosted.crash-loop', { count: MAX_STARTS, minutes: START_WINDOW_MS / 60_000 });
  const problem = { code: 'AGENT_CRASH_LOOP' as const, ...said, isFinal: true };
  // The instance stays: its log says why.
  return onFailed({ ...life, startsMs: startsMs.slice(0, -1) }, problem, false);
}

function onReady(life: AgentLife, nowMs: number): AgentStep {
  if (life.phase !== 'starting') return same(life);
  return delivered({ ...life, isInDoubt: false, lastActivityMs: nowMs, problem: undefined });
}

function delivered(life: AgentLife): AgentStep {
  const next = { ...life, running: life.running + life.waiting, waiting: 0 };
  const effects: AgentEffect[] = life.waiting > 0 ? [{ do: 'deliver' }] : [];
  return { life: { ...next, phase: next.running > 0 || next.saysBusy ? 'busy' : 'ready' }, effects };
}

function onFailed(life: AgentLife, problem: AgentProblem, leaves: boolean): AgentStep {
  const effects: AgentEffect[] = [
    { do: 'reject', problem },
    ...(leaves ? [{ do: 'clean-up' } as const] : []),
  ];
  return {
    life: { ...life, phase: 'failed', waiting: 0, saysBusy: false, isInDoubt: false, problem },
    effects,
  };
}

function onStopped(life: AgentLife): AgentStep {
  if (life.phase !== 'stopping') return same(life);
  // An agent that ran until wa2ai stopped it is in no crash loop.
  const startsMs = life.isInDoubt ? life.startsMs : [];
  const next = { ...life, saysBusy: false, isInDoubt: false, startsMs };
  // A request came while it stopped.
  return life.waiting > 0 ? to(next, 'starting', { do: 'find' }) : to(next, 'stopped');
}

function runningPhase(life: AgentLife): AgentPhase {
  if (life.phase !== 'ready' && life.phase !== 'busy') return life.phase;
  return life.running > 0 || life.saysBusy ? 'busy' : 'ready';
}

function to(life: AgentLife, phase: AgentPhase, ...effects: AgentEffect[]): AgentStep {
  return { life: { ...life, phase }, effects };
}

function same(life: AgentLife): AgentStep {
  return { life, effects: [] };
}

/** The agents to stop so that one more can run: those used longest ago, idle ones only. Undefined: there are too few. */
export function agentsToStop(
  lives: ReadonlyMap<string, AgentLife>,
  starting: string,
  limit: number,
): string[] | undefined {
  const up = [...lives].filter(
    // One that stops makes room already.
    ([agentId, life]) =>
      agentId !== starting && isUp(life) && (life.phase !== 'stopping' || life.waiting > 0),
  );
  const excess = up.length + 1 - limit;
  if (excess <= 0) return [];
  const idle = up
    .filter(([, life]) => isIdle(life))
    .sort(([, a], [, b]) => a.lastActivityMs - b.lastActivityMs);
  return idle.length < excess ? undefined : idle.slice(0, excess).map(([agentId]) => agentId);
}

/** Protocols of hosted agents: the port, the readiness check and the request that belong to each. */
export const AGENT_PROFILES = ['chat', 'adk', 'abi', 'agentcore', 'a2a'] as const;
/** `swerex` is a shell runtime: only routes to shells have it. */
export type AgentProfile = (typeof AGENT_PROFILES)[number] | 'swerex';

/** The port that a program of the profile listens on in its container, unless the settings name one. */
export const PROFILE_PORTS: Record<AgentProfile, number> = {
  chat: 8080,
  adk: 8000,
  abi: 80,
  agentcore: 8080,
  a2a: 8080,
  swerex: 8000,
};

/** How a hosted agent runs, with all defaults filled in. A change of it re-creates the container; the data stays. */
export interface AgentSpec {
  runtime: 'docker' | 'process';
  image?: string;
  command?: readonly string[];
  profile: AgentProfile;
  /** Port inside the container; of a process its own port, 0 for a free one. */
  port: number;
  env: Readonly<Record<string, string>>;
  memoryMb: number;
  cpus: number;
  pids: number;
  network: 'none' | 'internet';
  pull: 'never' | 'missing' | 'always';
}

/** Whether a text is the name of an image by Docker's grammar: `registry.example:5000/team/agent:1@sha256:…`. */
export function isImageName(text: string): boolean {
  const [name = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !/^[a-z0-9]+:[0-9a-f]{32,128}$/.test(digest))) return false;
  const parts = name.split('/');
  const [last = '', tag, ...others] = (parts.pop() ?? '').split(':');
  if (others.length > 0 || (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag))) return false;
  const [host, ...rest] = parts;
  const isHost = host !== undefined && /^(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d{1,5})?$/.test(host);
  const isPart = (part: string) => /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/.test(part);
  return (host === undefined || isHost || isPart(host)) && [...rest, last].every(isPart);
}

/** One hosted agent: its name, and what wa2ai knows of it before it runs. */
export interface HostedAgent {
  /** `[a-z0-9][a-z0-9._-]{0,62}`: the name of its data folder. */
  agentId: string;
  spec: AgentSpec;
  /** How long it runs without work, in milliseconds. */
  idleMs: number;
  /** Settings of the profile's own agent kind: `{appName: 'helper'}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Longest wait for an answer, in milliseconds. Absent: as the service says. */
  timeoutMs?: number;
  /** Absent: it was made by the API. */
  accountId?: string;
  routeId?: string;
  /** Whose messages it answers: the name of the person or the group, or the address. Absent: everybody's. */
  usedBy?: string;
}

/** What names the person or the chat that an agent answers. */
export type AgentUser = Pick<IncomingMessage, 'from' | 'channelId' | 'isGroup' | 'pushName' | 'subject'>;

/** The name of the person, or of the group, as they chose it; without one the number or the address. */
export function nameOfUser(user: AgentUser, per: 'person' | 'chat'): string {
  if (per === 'chat' && user.isGroup) return user.subject ?? user.channelId;
  return user.pushName || (canonicalChannelId(user.from) ?? user.from);
}

/** Headers with which wa2ai proves itself to a hosted agent. */
export function tokenHeaders(token: string): Record<string, string> {
  return { 'x-api-key': token, authorization: `Bearer ${token}` };
}

/** What an id of an agent must look like. */
export const AGENT_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/;
