import { cleanText } from '../../../core/clean-text.ts';
import type { InboundMedia } from '../../../core/messages/inbound-message.ts';
import type { MediaInfo, ReplyMedia } from '../../../core/models.ts';
import type { ReplyFileStore } from '../../../core/ports/media-store.ts';
import type { LateReply } from '../../../core/ports/reply-tokens.ts';
import type { NewReply } from '../../../core/turns/turn.ts';

/** The columns of a message's file. */
export function mediaColumns(
  media: InboundMedia | undefined,
): { info: MediaInfo; reference: string } | undefined {
  if (!media) return undefined;
  const { reference, ...info } = media;
  return { info, reference: cleanText(reference) };
}

/**
 * The files of replies for `inbox_finish_turn` and `reply_later`: null for replies of text, or altogether when none has one. A
 * file that a store takes is there when this resolves.
 */
export async function filesJson(
  replies: ReadonlyArray<NewReply | LateReply>,
  files: ReplyFileStore | undefined,
): Promise<string | null> {
  if (replies.every(({ media }) => !media)) return null;
  return JSON.stringify(
    await Promise.all(
      replies.map(async ({ media, file }) => {
        if (!media || !file) return null;
        const stored = await files?.save(file);
        if (stored) return { media: storableMedia(media), ...stored };
        const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('base64');
        return { media: storableMedia(media), bytes };
      }),
    ),
  );
}

/** The quotes of replies for `inbox_finish_turn`, as `filesJson`. */
export function quotesJson(replies: readonly NewReply[]): string | null {
  if (replies.every(({ quote }) => !quote)) return null;
  return JSON.stringify(
    replies.map(({ quote }) => (quote ? { ...quote, text: cleanText(quote.text) } : null)),
  );
}

/** What replies of no text and no file are, for `inbox_finish_turn`, as `filesJson`. */
export function specialsJson(replies: readonly NewReply[]): string | null {
  if (replies.every(({ special }) => !special)) return null;
  return JSON.stringify(replies.map(({ special }) => special ?? null));
}

function storableMedia({ kind, mimeType, fileName, sizeBytes }: ReplyMedia): ReplyMedia {
  return {
    kind,
    mimeType: cleanText(mimeType),
    ...(fileName !== undefined && { fileName: cleanText(fileName) }),
    sizeBytes,
  };
}
