import type { AgentResponse } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { FormatReply, Speech } from '../ports/converters.ts';
import type { Pictures } from '../ports/media.ts';
import { type ReplyContent, repliesOf } from '../turns/turn.ts';
import { chunksOf } from './chunks.ts';
import type { ConversationSettings } from './conversation-fields.ts';
import { filterEgress, type Removed } from './egress-filter.ts';
import type { ChatSettings } from './settings.ts';

/** What the shape of an answer follows from, besides its route. */
export interface ReplyShaping {
  /** The default of all routes. @throws {StorageUnavailableError} */
  conversation(): Promise<ConversationSettings>;
  formatReply: FormatReply;
  /** Absent: pictures in Markdown and files named by URL stay text. */
  pictures?: Pictures;
  /** Absent: every answer is text. */
  speech?: Speech;
  /** A new secret that opens the votes of a poll, base64. */
  pollSecret(): string;
}

/** What was done to an agent's answer, for the trace of its message. Absent from the trace: nothing. */
export interface ReplyStep extends Said {
  step: 'egress-filter' | 'reply' | 'pictures' | 'files' | 'special' | 'voice';
  outcome: 'cut' | 'withheld' | 'split' | 'formatted' | 'loaded' | 'spoken' | 'too-long' | 'failed';
  removed?: Removed[];
  messages?: number;
}

/** The answer of an agent as it goes to the chat. `isWithheld`: it had a text, of which nothing may leave. */
export interface ShapedReply {
  replies: ReplyContent[];
  steps: ReplyStep[];
  isWithheld: boolean;
}

/**
 * The replies for an agent's answer: what must not leave is removed, Markdown converted, a long text split. Pure.
 * The text of an agent that does not write Markdown (`AgentResponse.isPlain`) keeps its form.
 * @param mayBeCaption as `repliesOf`
 */
export function shapeReply(
  response: AgentResponse,
  { reply, egressFilter }: Pick<ChatSettings, 'reply' | 'egressFilter'>,
  format: FormatReply,
  mayBeCaption = true,
): ShapedReply {
  const said = response.response?.trim() ? response.response : '';
  const steps: ReplyStep[] = [];
  const { text, removed } = egressFilter === 'on' ? filterEgress(said) : { text: said, removed: [] };
  if (removed.length > 0) steps.push(filterStep(removed, text === ''));
  const formatted = response.isPlain || text === '' ? text : format(text, reply.format);
  if (formatted !== text) {
    const sentence = say('answer.formatted');
    steps.push({ step: 'reply', outcome: 'formatted', ...sentence });
  }
  const replies = repliesOf({ ...response, response: formatted }, mayBeCaption).flatMap((content) =>
    content.media || content.special ? [content] : split(content, reply.maxChars, steps),
  );
  return { replies, steps, isWithheld: said !== '' && text === '' };
}

function split({ text }: ReplyContent, maxChars: number, steps: ReplyStep[]): ReplyContent[] {
  if (text.length <= maxChars) return [{ text }];
  const chunks = chunksOf(text, maxChars).flatMap((chunk) => {
    const shown = chunk.replace(/^\n+/, '').trimEnd();
    return shown === '' ? [] : [{ text: shown }];
  });
  const sentence = say('answer.split', { characters: text.length, messages: chunks.length });
  steps.push({ step: 'reply', outcome: 'split', messages: chunks.length, ...sentence });
  return chunks;
}

function filterStep(removed: Removed[], isWithheld: boolean): ReplyStep {
  const what = removed.map(({ kind, count }) => `${kind} (${count})`).join(', ');
  return {
    step: 'egress-filter',
    outcome: isWithheld ? 'withheld' : 'cut',
    removed,
    ...say(isWithheld ? 'answer.withheld' : 'answer.filtered', { kinds: what }),
  };
}
