import { contractSessionId, contractUser } from '../chat-id.ts';
import type { IncomingMessage, Session } from '../models.ts';
import { type ChatState, withEntry } from './chat-state.ts';
import { localTimeOf } from './governor.ts';
import type { ChatSettings } from './settings.ts';
import { inline, type Language, textOf } from './texts.ts';

/** Whose session it is with the scope `person`. */
const PERSON = 'person';

/** The session of a turn; with `patch` when it is a new one. */
interface SessionChoice {
  session: Session;
  patch?: ChatState;
}

interface SessionTurn {
  message: Pick<IncomingMessage, 'from' | 'channelId' | 'isGroup'>;
  /** Who wrote the message. */
  sender: string;
  /** When our last reply in the chat was stored. */
  repliedAtMs?: number;
}

/**
 * The session that a message belongs to. A new one begins when nothing was answered for `idleMinutes`, or since the last
 * `dailyAt`. The first has the id of the agent contract, later ones add `_2` and so on. Pure.
 */
export function chooseSession(
  turn: SessionTurn,
  state: ChatState,
  settings: ChatSettings['session'],
  nowMs: number,
): SessionChoice {
  const key = keyOf(turn, settings);
  const current = state.sessions?.[key] ?? { number: 1, startMs: 0 };
  const { repliedAtMs } = turn;
  const isIdle =
    repliedAtMs !== undefined &&
    settings.idleMinutes > 0 &&
    nowMs - Math.max(repliedAtMs, current.startMs) > settings.idleMinutes * 60_000;
  const boundaryMs =
    settings.dailyAt === undefined ? undefined : lastDaily(settings.dailyAt, settings.timeZone, nowMs);
  const isPast =
    repliedAtMs !== undefined &&
    boundaryMs !== undefined &&
    Math.max(repliedAtMs, current.startMs) < boundaryMs;
  if (!isIdle && !isPast) return { session: sessionOf(turn, settings, current.number, current.startMs) };
  return startSession(turn, state, settings, nowMs);
}

/** A new session, as after `/new`. Pure. */
export function startSession(
  turn: SessionTurn,
  state: ChatState,
  settings: ChatSettings['session'],
  nowMs: number,
): SessionChoice {
  const key = keyOf(turn, settings);
  const number = (state.sessions?.[key]?.number ?? 1) + 1;
  const patch = { sessions: withEntry(state.sessions, key, { number, startMs: nowMs }) };
  return { session: sessionOf(turn, settings, number, nowMs), patch };
}

/** A person has one session in all chats: what is stored of it takes the place of what is stored of a chat. Pure. */
export function personState({ number, startMs }: Pick<Session, 'number' | 'startMs'>): ChatState {
  return { sessions: { [PERSON]: { number, startMs } } };
}

/** A person alone in a chat may become known by another address; members of a group are distinguished by theirs. */
function keyOf({ message, sender }: SessionTurn, { scope }: ChatSettings['session']): string {
  if (scope === 'person') return PERSON;
  return scope === 'chat' || !message.isGroup ? 'chat' : sender;
}

function sessionOf(
  { message: { from, channelId } }: SessionTurn,
  { scope }: ChatSettings['session'],
  number: number,
  startMs: number,
): Session {
  const user = scope === 'chat' ? contractUser(channelId) : contractUser(from);
  const id = contractSessionId(scope === 'chat' ? channelId : from, scope === 'person' ? from : channelId);
  return { userId: user, id: number === 1 ? id : `${id}_${number}`, number, startMs };
}

/** The last time before now at which it was this time of day in the time zone. */
function lastDaily(dailyAt: string, timeZone: string, nowMs: number): number {
  const [hours = 0, minutes = 0] = dailyAt.split(':').map(Number);
  const { second } = localTimeOf(nowMs, timeZone);
  const since = (second - (hours * 60 + minutes) * 60 + 86_400) % 86_400;
  return nowMs - since * 1_000 - (nowMs % 1_000);
}

type CommandName = 'new' | 'help' | 'stop' | 'status';

const NAMES: Record<string, CommandName> = {
  new: 'new',
  reset: 'new',
  help: 'help',
  stop: 'stop',
  status: 'status',
};

/** The command that a text is, with or without a mention before it; undefined when it is none. */
export function commandIn(text: string): CommandName | undefined {
  const name = /^[\s\p{Bidi_Control}]*(?:@\d{5,20}\s+)?\/([a-z]{3,6})[\s\p{Bidi_Control}]*$/iu
    .exec(text)?.[1]
    ?.toLowerCase();
  return name !== undefined && Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
}

/**
 * The lines of `/help` about the commands that are on.
 * @param title `helpAlso` where they follow the help of the agent
 */
export function commandHelp(
  { commands, texts }: Pick<ChatSettings, 'commands' | 'texts'>,
  language: Language,
  title: 'help' | 'helpAlso' = 'help',
): string {
  const lines: Array<[boolean, string, Parameters<typeof textOf>[0]]> = [
    [commands.new, '/new', 'helpNew'],
    [commands.stop, '/stop', 'helpStop'],
    [commands.status, '/status', 'helpStatus'],
    [commands.help, '/help', 'helpHelp'],
  ];
  const shown = lines
    .filter(([isOn]) => isOn)
    .map(([, command, name]) => `- ${inline(command, language)}: ${textOf(name, language, texts)}`);
  return [textOf(title, language, texts), ...shown].join('\n');
}
