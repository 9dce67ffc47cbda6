import type { ChatState } from './chat-state.ts';
import type { Conversation } from './settings.ts';
import { type Language, textOf } from './texts.ts';

export type NoticeName = 'unsupported' | 'failed';

/** The same notice is not sent again in this time. */
const REPEAT_AFTER_MS = 10 * 60_000;

/** A notice to send, and the state of the chat once it is sent. */
export interface Notice {
  text: string;
  patch: ChatState;
}

/**
 * The text that a person gets when there is no answer, or not yet; undefined when the settings or an earlier notice of the
 * last ten minutes forbid it. Pure.
 * @param own the text of the route for this case, before that of the settings
 */
export function noticeOf(
  name: NoticeName,
  state: ChatState,
  { notices }: Pick<Conversation, 'notices'>,
  language: Language,
  nowMs: number,
  own?: string,
): Notice | undefined {
  const setting = notices[name];
  if (setting === false && own === undefined) return undefined;
  const lastMs = state.notices?.[name];
  if (lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < REPEAT_AFTER_MS) return undefined;
  const text = own ?? (typeof setting === 'string' ? setting : textOf(name, language));
  return { text, patch: { notices: { ...state.notices, [name]: nowMs } } };
}
