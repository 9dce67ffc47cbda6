import type { AgentResponse } from '../models.ts';
import type { NewReply } from './turn.ts';

/** WhatsApp shows no longer caption. */
const MAX_CAPTION_CHARS = 1_024;

/**
 * The replies for an agent's response, in order: none, a text, or its files. The text is the caption of the first picture
 * or document when it is short enough, and else is sent before the files as a separate message.
 */
export function repliesOf({
  response,
  files = [],
}: AgentResponse): Array<Pick<NewReply, 'text' | 'media' | 'file'>> {
  const text = response?.trim() ? response : '';
  const captioned = text.length > MAX_CAPTION_CHARS ? -1 : files.findIndex(({ kind }) => kind !== 'audio');
  const replies = files.map(({ kind, mimeType, fileName, bytes }, index) => ({
    text: index === captioned ? text : '',
    media: { kind, mimeType, ...(fileName !== undefined && { fileName }), sizeBytes: bytes.length },
    file: bytes,
  }));
  return text === '' || captioned >= 0 ? replies : [{ text }, ...replies];
}
