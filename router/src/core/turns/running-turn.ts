import { type AgentExchange, addExchange } from '../agent-exchange.ts';
import { type ErrorCode, Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Route } from '../models.ts';
import type { ChatState } from '../policies/chat-state.ts';
import {
  type ChatPolicy,
  type Decision,
  type NoticeName,
  noticeOf,
  type TurnView,
  type WorkEnd,
} from '../policies/policy.ts';
import { languageOfWords } from '../policies/texts.ts';
import type { LoopChange, NewReply, PendingTurn, TakenTurn, TurnResult } from './turn.ts';

interface MintId {
  /** A new WhatsApp id for a reply. */
  mintId(): string;
}

/** State of the running turn: the steps of its trace, its exchanges with agents, and what changes in the state of the chat. */
export class RunningTurn {
  /** Another one once a voice message became text. */
  view: TurnView;
  readonly steps: object[];
  readonly #exchanges: AgentExchange[] = [];
  #patch: ChatState | undefined;
  #loop: LoopChange | undefined;
  #isPromised = false;

  constructor(view: TurnView, steps: readonly object[]) {
    this.view = view;
    this.steps = [...steps];
  }

  /** The state of the chat with the changes so far. */
  get state(): ChatState {
    return { ...this.view.turn.chatState, ...this.#patch };
  }

  patch(change: ChatState | undefined): void {
    if (change) this.#patch = { ...this.#patch, ...change };
  }

  setLoop(change: LoopChange | undefined): void {
    this.#loop = change ?? this.#loop;
  }

  /** Whether the chat read in this turn that an answer comes. */
  get isPromised(): boolean {
    return this.#isPromised;
  }

  promise(): void {
    this.#isPromised = true;
  }

  readonly onExchange = (exchange: AgentExchange): void => addExchange(this.#exchanges, exchange);

  ended(result: Omit<TurnResult, 'trace' | 'exchanges' | 'statePatch' | 'loop'>): TakenTurn {
    const language = languageOfWords(this.view.turn.message.text);
    if (language && language !== this.state.language) this.patch({ language });
    return {
      ...result,
      turn: this.view.turn,
      trace: this.steps,
      ...(this.#exchanges.length > 0 && { exchanges: this.#exchanges }),
      ...(this.#patch && { statePatch: this.#patch }),
      ...(this.#loop && { loop: this.#loop }),
    };
  }
}

/** Evaluates the policies until one ends the turn or lets it wait; their steps are added to the trace. */
export async function decide(
  { policies, log }: { policies: readonly ChatPolicy[]; log: Logger },
  running: RunningTurn,
): Promise<Exclude<Decision, { kind: 'continue' }> | undefined> {
  for (const policy of policies) {
    const decision = await policy.before?.(running.view, log);
    if (!decision) continue;
    if (decision.kind === 'wait') return decision;
    if (decision.step) running.steps.push(decision.step);
    running.patch(decision.patch);
    running.setLoop(decision.loop);
    if (decision.turn) running.view = { ...running.view, turn: decision.turn };
    if (decision.kind === 'end') return decision;
  }
  for (const policy of policies) policy.started?.(running.view);
  return undefined;
}

/** Whether what was stored since belongs to the question that the agent works on. */
export async function isInterrupted(
  { policies }: { policies: readonly ChatPolicy[] },
  view: TurnView,
): Promise<boolean> {
  for (const policy of policies) if (await policy.interrupts?.(view)) return true;
  return false;
}

/** Runs `work` inside all policies that have something to do during it, the first one outermost. */
export function duringAll<T extends WorkEnd>(
  [policy, ...rest]: readonly ChatPolicy[],
  running: RunningTurn,
  work: () => Promise<T>,
): Promise<T> {
  if (!policy) return work();
  const inner = () => duringAll(rest, running, work);
  if (!policy.during) return inner();
  return policy.during({ ...running.view, state: running.state }, inner, (change) => running.patch(change));
}

/** A notice as a reply; none when the settings forbid it, or an earlier notice and no answer was promised. */
export function noticeFor(
  deps: MintId,
  running: RunningTurn,
  name: NoticeName,
  own: string | undefined,
): NewReply[] {
  const { turn, conversation, language, nowMs } = running.view;
  const { [name]: last, ...others } = running.state.notices ?? {};
  const state = {
    ...running.state,
    notices: running.isPromised || last === undefined ? others : { ...others, [name]: last },
  };
  const found = noticeOf(name, state, conversation, language, nowMs, own);
  running.patch(found?.patch);
  return notice(deps, turn, found?.text);
}

/** The end of a turn that an error ended which a repeat would not change. */
export function faultResult(cause: unknown): TurnResult & { reason: ErrorCode; error: string } {
  const isOwn = cause instanceof Wa2aiError;
  const name = cause instanceof Error ? cause.name : typeof cause;
  return {
    state: 'dead',
    reason: isOwn ? cause.code : 'TURN_FAULT',
    error: isOwn
      ? cause.message
      : `The turn failed by a fault inside wa2ai (${name}); its log has the cause.`,
    replies: [],
  };
}

/** The end of a turn whose route was chosen, by such an error: the person reads that there is no answer. */
export function faultOfTurn(deps: MintId, running: RunningTurn, route: Route, cause: unknown): TakenTurn {
  const replies = noticeFor(deps, running, 'failed', route.config.failureNotice);
  return running.ended({ ...faultResult(cause), routeId: route.id, replies });
}

/** A text of wa2ai itself as a reply; none for an empty text. */
export function notice(deps: MintId, turn: PendingTurn, text: string | undefined): NewReply[] {
  return text ? [{ ...addressOf(deps, turn), text }] : [];
}

/** Where a reply of the turn goes, with a new WhatsApp id. */
export function addressOf(deps: MintId, turn: PendingTurn) {
  return { accountId: turn.accountId, to: turn.replyTo, waMessageId: deps.mintId() };
}
