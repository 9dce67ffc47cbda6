import type { AgentResponse, MediaKind } from '../models.ts';
import type { NewReply } from './turn.ts';

/** WhatsApp shows no longer caption. */
export const MAX_CAPTION_CHARS = 1_024;

/** Whether WhatsApp shows a text with a file of this kind. */
export function hasCaption(kind: MediaKind): boolean {
  return kind === 'image' || kind === 'video' || kind === 'document';
}

/** A reply without its address. */
export type ReplyContent = Pick<NewReply, 'text' | 'media' | 'file' | 'special'>;

/**
 * The replies for an agent's response, in order: none, a text, or its files. The text is the caption of the first picture,
 * video or document when it is short enough, and else is sent before the files as a separate message.
 * @param mayBeCaption false: the text is a message in any case
 */
export function repliesOf({ response, files = [] }: AgentResponse, mayBeCaption = true): ReplyContent[] {
  const text = response?.trim() ? response : '';
  const isMessage = !mayBeCaption || text.length > MAX_CAPTION_CHARS;
  const captioned = isMessage ? -1 : files.findIndex(({ kind }) => hasCaption(kind));
  const replies = files.map(({ kind, mimeType, fileName, bytes }, index) => ({
    text: index === captioned ? text : '',
    media: { kind, mimeType, ...(fileName !== undefined && { fileName }), sizeBytes: bytes.length },
    file: bytes,
  }));
  return text === '' || captioned >= 0 ? replies : [{ text }, ...replies];
}
