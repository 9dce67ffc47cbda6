import { type AgentExchange, addExchange } from '../agent-exchange.ts';
import { type ErrorCode, Wa2aiError } from '../errors.ts';
import type { Route } from '../models.ts';
import { errorOfSaid, say } from '../phrases.ts';
import type { ChatState } from '../policies/chat-state.ts';
import type { TurnView } from '../policies/policy.ts';
import type { ChatSettings } from '../policies/settings.ts';
import { type Language, languageOfWords, textOf } from '../policies/texts.ts';
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

/** A notice as a reply; none when the settings forbid it, or an earlier notice and no answer was promised. */
export function noticeFor(deps: MintId, running: RunningTurn, name: NoticeName): NewReply[] {
  const { turn, conversation, language, nowMs } = running.view;
  const { [name]: last, ...others } = running.state.notices ?? {};
  const state = {
    ...running.state,
    notices: running.isPromised || last === undefined ? others : { ...others, [name]: last },
  };
  const found = noticeOf(name, state, conversation, language, nowMs);
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
    ...errorOfSaid(isOwn ? cause.said : say('turn.fault', { name })),
    replies: [],
  };
}

/** The end of a turn whose route was chosen, by such an error: the person reads that there is no answer. */
export function faultOfTurn(deps: MintId, running: RunningTurn, route: Route, cause: unknown): TakenTurn {
  const replies = noticeFor(deps, running, 'failed');
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

type NoticeName = 'unsupported' | 'failed';

/** The same notice is not sent again in this time. */
const REPEAT_AFTER_MS = 10 * 60_000;

/** A notice to send, and the state of the chat once it is sent. */
interface Notice {
  text: string;
  patch: ChatState;
}

/**
 * The text that a person gets when there is no answer, or not yet; undefined when the settings or an earlier notice of the
 * last ten minutes forbid it. Pure.
 */
export function noticeOf(
  name: NoticeName,
  state: ChatState,
  { notices, texts }: Pick<ChatSettings, 'notices' | 'texts'>,
  language: Language,
  nowMs: number,
): Notice | undefined {
  const setting = notices[name];
  if (setting === false) return undefined;
  const lastMs = state.notices?.[name];
  if (lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < REPEAT_AFTER_MS) return undefined;
  const text = typeof setting === 'string' ? setting : textOf(name, language, texts);
  return { text, patch: { notices: { ...state.notices, [name]: nowMs } } };
}
