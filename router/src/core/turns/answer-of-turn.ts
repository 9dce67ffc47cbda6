import { AgentTaskError, MediaError, type Wa2aiError } from '../errors.ts';
import type { TurnReason } from '../messages/message-reason.ts';
import type { Route } from '../models.ts';
import type { ReplyShaping } from '../policies/reply.ts';
import { hasPauseContext } from '../policies/takeover.ts';
import { textOf } from '../policies/texts.ts';
import { withHelp } from './answer-command.ts';
import type { RouteAnswer } from './ask-route.ts';
import { addressOf, notice, noticeFor, type RunningTurn } from './running-turn.ts';
import { shapeAnswer } from './shape-answer.ts';
import { type ShowDraftDeps, showDraft } from './show-draft.ts';
import type { ReplyStream } from './stream-reply.ts';
import type { NewReply, PendingTurn, TurnResult } from './turn.ts';
import type { TakenTurn } from './turn-control.ts';

/** Reason of a turn that left a task running: what `RemoteTasks.unfollowed` looks for. */
export const TASK_STARTED = 'task-started';

export interface AnswerOfTurnDeps extends ReplyShaping, ShowDraftDeps {
  /** A new WhatsApp id for a reply. */
  mintId(): string;
  stopping: AbortSignal;
}

interface AnswerOptions {
  route: Route;
  /** As the agent got it. */
  turn: PendingTurn;
  /** What the first message of the answer quotes. */
  quote?: Pick<NewReply, 'quote'> | undefined;
  /** Showed some of the answer. */
  stream?: ReplyStream | undefined;
}

/** The end of a turn whose agents were asked: the answer in the form of WhatsApp, or what the person reads instead. */
export async function answerOfTurn(
  deps: AnswerOfTurnDeps,
  running: RunningTurn,
  answer: RouteAnswer,
  { route, turn, quote, stream }: AnswerOptions,
): Promise<TakenTurn> {
  const { conversation } = running.view;
  const { failureNotice } = route.config;
  const shown = (replies: NewReply[]) => stream?.replace(replies) ?? replies;
  const { routeId, attempts, agentMs } = answer;
  const ended = (end: Omit<TurnResult, 'trace'>) => running.ended({ routeId, attempts, agentMs, ...end });
  const detail = answer.kind === 'answer' ? answer.response.detail : answer.error.detail;
  running.steps.push(
    ...answer.steps,
    ...(stream?.steps ?? []),
    ...(detail ? [{ outcome: 'called', ...detail }] : []),
  );
  if (answer.kind === 'failed') {
    const { error, sentence } = answer;
    const said = textForPerson(error, failureNotice);
    const replies =
      said === undefined ? noticeFor(deps, running, 'failed', failureNotice) : notice(deps, turn, said);
    return ended({ state: 'dead', reason: error.code, error: sentence, replies: shown(replies) });
  }
  if (answer.kind === 'fallback-text') {
    const replies = shown(notice(deps, turn, answer.text));
    return ended({ state: 'answered', reason: 'fallback-text', error: answer.error.message, replies });
  }
  if (hasPauseContext(running.state)) running.patch({ contextTakenMs: turn.receivedAtMs });
  const response = stream?.unsent(answer.response) ?? answer.response;
  const shaped = await shapeAnswer(deps, withHelp(response, running), {
    conversation,
    asked: turn.message,
    isOfTurn: true,
    mayBeCaption: !stream?.hasSentParts,
    // The owner reads an answer before it is sent, and the line of a task is no answer.
    mayBeVoice: !stream?.hasSentParts && !turn.isApproving && !response.task,
    signal: deps.stopping,
  });
  running.steps.push(...shaped.steps);
  const said = shaped.replies.map((reply, index) => ({
    ...addressOf(deps, turn),
    ...reply,
    ...(index === 0 && !stream?.hasSentParts && quote),
  }));
  // The line of a task that goes on is no answer, and replaces nothing.
  const replies = response.task ? said : shown(said);
  const draft = turn.isApproving && { isDraft: true as const };
  if (draft) await showDraft(deps, turn, replies);
  const answered = (reason?: TurnReason) =>
    ended({ ...draft, state: 'answered', ...(reason !== undefined && { reason }), replies });
  if (response.isLater) return answered('agent-later');
  if (response.task) return answered(TASK_STARTED);
  if (replies.length === 0 && shaped.isWithheld) {
    const instead = shown(noticeFor(deps, running, 'failed', failureNotice));
    return ended({ state: 'answered', reason: 'reply-withheld', replies: instead });
  }
  if (replies.length === 0 && !stream?.hasSentParts) {
    // An agent may choose to say nothing, but not after the person read that the answer is on its way.
    const instead = running.isPromised ? notice(deps, turn, textOf('noAnswer', running.view.language)) : [];
    return ended({ state: 'answered', reason: 'agent-empty', replies: instead });
  }
  return answered(draft ? 'draft' : undefined);
}

/** What an error itself says to the person. Only the route's own template lets a text of the agent through. */
function textForPerson(error: Wa2aiError, failureNotice: string | undefined): string | undefined {
  if (error instanceof AgentTaskError) return error.forPerson;
  return error instanceof MediaError && failureNotice === undefined ? error.forPerson : undefined;
}
