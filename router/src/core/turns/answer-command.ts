import { Wa2aiError } from '../errors.ts';
import type { AgentResponse, Route } from '../models.ts';
import { say } from '../phrases.ts';
import { commandHelp, commandIn } from '../policies/commands.ts';
import { type Language, textOf } from '../policies/texts.ts';
import type { AskRouteDeps } from './ask-route.ts';
import { notice, type RunningTurn } from './running-turn.ts';
import { type SessionDeps, sessionOfTurn } from './session-of-turn.ts';
import type { TurnResult } from './turn.ts';

/** The answer to a command that wa2ai answers itself; undefined for any other message. */
export async function answerCommand(
  deps: Pick<AskRouteDeps, 'agents'> & SessionDeps & { mintId(): string },
  route: Route,
  running: RunningTurn,
): Promise<TurnResult | undefined> {
  const { turn, conversation, language } = running.view;
  const name = commandIn(turn.message.text);
  if (!name || !conversation.commands[name]) return undefined;
  if (await ownsCommand(deps, route, name)) return undefined;
  let text: string;
  if (name === 'new') {
    await sessionOfTurn(deps, running, true);
    text = textOf('new', language);
  } else if (name === 'status') {
    const { startMs } = await sessionOfTurn(deps, running);
    text = statusText(turn.isApproving === true, startMs, conversation.session.timeZone, language);
  } else if (name === 'stop') {
    text = textOf(running.state.isStopped ? 'stop' : 'stopNone', language);
    if (running.state.isStopped) running.patch({ isStopped: false });
  } else text = commandHelp(conversation, language);
  const sentence = say('command.answered', { command: name });
  running.steps.push({ step: 'command', outcome: name, ...sentence });
  return running.ended({
    state: 'answered',
    reason: 'command',
    routeId: route.id,
    replies: notice(deps, turn, text),
  });
}

/** What works, and since when. When the first conversation of a person began is not stored. */
function statusText(isApproving: boolean, startMs: number, timeZone: string, language: Language): string {
  const status = textOf(isApproving ? 'statusApproving' : 'status', language);
  if (startMs === 0) return status;
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone });
  return `${status} ${textOf('statusSince', language, { since: format.format(startMs) })}`;
}

async function ownsCommand(
  { agents }: Pick<AskRouteDeps, 'agents'>,
  route: Route,
  name: string,
): Promise<boolean> {
  if (route.damage !== undefined) return false;
  try {
    return (await agents.clientFor(route).ownsCommand?.(name, route.agentEndpoint)) ?? false;
  } catch (error) {
    if (error instanceof Wa2aiError) return false;
    throw error;
  }
}

/** The agent's own help, followed by that of wa2ai. */
export function withHelp(
  response: AgentResponse,
  { view: { turn, conversation, language } }: RunningTurn,
): AgentResponse {
  if (commandIn(turn.message.text) !== 'help' || !conversation.commands.help || !response.response)
    return response;
  return {
    ...response,
    response: `${response.response}\n\n${commandHelp(conversation, language, 'helpAlso')}`,
  };
}
