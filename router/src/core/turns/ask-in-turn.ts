import { AgentUnavailableError, type Wa2aiError } from '../errors.ts';
import type { Route } from '../models.ts';
import type { ChatPolicy } from '../policies/policy.ts';
import { isVoiceReply } from '../policies/voice-fields.ts';
import type { ChatClaim } from '../ports/inbox.ts';
import { type OfferDeps, offersOf } from './agent-offers.ts';
import { type AskRouteDeps, askRoute, type RouteAnswer } from './ask-route.ts';
import { duringAll, isInterrupted, type RunningTurn } from './running-turn.ts';
import { openStream, type ReplyStream, type StreamDeps } from './stream-reply.ts';
import type { NewReply, PendingTurn } from './turn.ts';
import { Interruption, type TurnControl, type TurnInterrupted } from './turn-control.ts';

export interface AskInTurnDeps extends AskRouteDeps, OfferDeps, StreamDeps {
  inbox: AskRouteDeps['inbox'] & StreamDeps['inbox'];
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
}

interface Question {
  claim: ChatClaim;
  route: Route;
  turn: PendingTurn;
  /** A crash may have interrupted the turn. */
  isRepeat: boolean;
  /** What the first message of the answer quotes. */
  quote?: Pick<NewReply, 'quote'> | undefined;
  control: TurnControl;
}

/** The end of the agents' work, and the stream that showed some of it; or that the person ended it with `/stop`. */
export type Asked =
  | { kind: 'asked'; answer: RouteAnswer; stream: ReplyStream | undefined }
  | { kind: 'stopped' }
  | TurnInterrupted;

/**
 * Asks the agents of the route inside the policies. Meanwhile the answer is shown if the settings want that, `/stop` ends the
 * work, and so does a new or changed question.
 * @throws {StorageUnavailableError} and what the agent's client throws beyond agent errors
 */
export async function askInTurn(
  deps: AskInTurnDeps,
  running: RunningTurn,
  question: Question,
): Promise<Asked> {
  const { claim, route, turn, quote, control } = question;
  const { view } = running;
  const { conversation } = view;
  const isAgain = question.isRepeat || (turn.earlierAttempts ?? 0) > 0;
  const stopped = new AbortController();
  control.stop = () => conversation.commands.stop && stopped.abort(new Error('the person wrote /stop'));
  const interruption = new Interruption(turn, () => isInterrupted(deps, view), deps.log);
  control.interrupt = () => interruption.end();
  control.stored = (changed) => interruption.onStored(changed);
  for (const changed of control.missed?.splice(0) ?? []) control.stored(changed);
  const stopping = AbortSignal.any([deps.stopping, stopped.signal, interruption.signal]);
  const onTask = () => interruption.forbid();
  // What is spoken is known when the answer is complete.
  const stream = isVoiceReply(conversation.reply.voice, turn.message)
    ? undefined
    : await openStream({ ...deps, stopping }, claim, turn, { conversation, isAgain, quote });
  let isUnreachable = false;
  const onFailure = (error: Wa2aiError) => {
    isUnreachable = error instanceof AgentUnavailableError && error.isAway;
  };
  running.view = {
    ...view,
    hasSentParts: () => stream?.hasSentParts ?? false,
    isUnreachable: () => isUnreachable,
    onPromise: () => running.promise(),
  };
  try {
    const offers = offersOf(deps, turn);
    const { onExchange } = running;
    const asking = { ...deps, ...offers, stopping, onTask, onText: stream?.onText, onExchange, onFailure };
    const ask = () => askRoute(asking, route, turn, isAgain);
    return { kind: 'asked', answer: await duringAll(deps.policies, running, ask), stream };
  } catch (error) {
    if (deps.stopping.aborted) throw error;
    if (stopped.signal.aborted) return { kind: 'stopped' };
    if (interruption.signal.aborted) return { isInterrupted: true };
    throw error;
  } finally {
    await stream?.end();
    control.stop = undefined;
    control.interrupt = undefined;
    control.stored = undefined;
  }
}
