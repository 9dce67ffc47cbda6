import type { Route } from '../models.ts';
import { NOT_ADDRESSED } from '../policies/group.ts';
import type { ChatPolicy, Decision, TurnView } from '../policies/policy.ts';
import type { Conversation } from '../policies/settings.ts';
import { languageOf, phoneOf } from '../policies/texts.ts';
import { decide, type RunningTurn } from './running-turn.ts';
import { type TranscribeDeps, transcribeVoice } from './transcribe-voice.ts';
import type { PendingTurn } from './turn.ts';

export interface DecideTurnDeps extends TranscribeDeps {
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
}

/** What policies and agents see of a turn. */
export function viewOf(turn: PendingTurn, route: Route, conversation: Conversation, nowMs: number): TurnView {
  const { message, chatState } = turn;
  const language = languageOf(message.text, phoneOf(message), chatState?.language);
  return { turn, route, conversation, language, nowMs };
}

/**
 * Evaluates the policies; then a voice message becomes text, unless the choice of the route needed its words, and the policies
 * are evaluated again if the words could change that they end the turn.
 * @param isHeard it was transcribed, or could not be
 * @returns how a policy ends the turn or lets it wait; undefined: the agent is asked
 * @throws {StorageUnavailableError}
 */
export async function decideTurn(
  deps: DecideTurnDeps,
  route: Route,
  running: RunningTurn,
  isHeard: boolean,
): Promise<Exclude<Decision, { kind: 'continue' }> | undefined> {
  const stop = await decide(deps, running);
  if (isHeard || stop?.kind === 'wait') return stop;
  const { turn, conversation, nowMs } = running.view;
  if (stop && !mayBeAddressed(stop, conversation)) return stop;
  const { turn: transcribed, step } = await transcribeVoice(deps, turn, route.config.media?.transcribe);
  if (step) running.steps.push(step);
  if (transcribed === turn) return stop;
  running.view = viewOf(transcribed, route, conversation, nowMs);
  return stop && decide(deps, running);
}

/** Whether the words of a voice message could change that it is not addressed to the account. */
function mayBeAddressed({ reason }: { reason: string }, { group }: Conversation): boolean {
  return reason === NOT_ADDRESSED && group.patterns.length > 0;
}
