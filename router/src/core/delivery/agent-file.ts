import { z } from 'zod';
import { AgentProtocolError } from '../errors.ts';
import { type AgentResponse, MAX_MEDIA_BYTES, type MediaKind, type ReplyFile } from '../models.ts';
import { PHRASES } from '../phrases.ts';
import { detectMediaType } from './media-type.ts';
import { readOpusFile } from './opus-file.ts';

const MAX_NAME_CHARS = 200;
const OPUS_TYPE = 'audio/ogg; codecs=opus';
/** Larger stickers are not shown. */
export const MAX_STICKER_BYTES = 1_000_000;

/** A media type as agents write it, with optional parameters. */
export const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/;

/** A file as agents write it in JSON. */
export const fileField = z.object({
  mimeType: z
    .string()
    .regex(MEDIA_TYPE, 'must be a media type such as image/png')
    .describe('Media type: `image/png`.'),
  data: z
    .string()
    .min(1)
    .refine((data) => !/[^A-Za-z0-9+/_=-]/.test(data), PHRASES['field.base64'])
    .describe('The bytes of the file, at most 10 MB, in base64.'),
  fileName: z.string().max(200).nullish().describe('Name of a document.'),
});

/** A file that agents name by URL in JSON. */
export const fileLinkField = z.object({
  url: z
    .string()
    .max(2048)
    .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), PHRASES['field.http-or-https-url'])
    .describe('URL of the file. Loaded from the hosts of `config.reply.fileHosts`, else sent as text.'),
  mimeType: z.string().regex(MEDIA_TYPE, 'must be a media type such as image/png').nullish(),
  fileName: z.string().max(200).nullish().describe('Name of a document.'),
});

/** Files of an answer, as agents write them: one or a list, each with its bytes or a URL. */
export const answerFilesField = z
  .union([fileField, fileLinkField])
  .or(z.array(z.union([fileField, fileLinkField])).max(10));

/**
 * The files of an answer.
 * @throws {AgentProtocolError} one is too large to be sent
 */
export function filesOfAnswer(
  given: z.output<typeof answerFilesField> | undefined,
): Pick<AgentResponse, 'files' | 'fileLinks'> {
  const all = given === undefined ? [] : Array.isArray(given) ? given : [given];
  const files = all.flatMap((file) => ('data' in file ? [agentFile(file)] : []));
  const fileLinks = all.flatMap((file) =>
    'url' in file
      ? [
          {
            url: file.url,
            ...(file.mimeType && { mimeType: file.mimeType }),
            ...(file.fileName && { fileName: file.fileName }),
          },
        ]
      : [],
  );
  return { ...(files.length > 0 && { files }), ...(fileLinks.length > 0 && { fileLinks }) };
}

/**
 * A file that an agent answered with.
 * @param data base64, in either alphabet
 * @throws {AgentProtocolError} it is too large to be sent
 */
export function agentFile({
  mimeType,
  data,
  fileName,
}: {
  mimeType: string;
  data: string | Buffer;
  fileName?: string | null;
}): ReplyFile {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
  if (bytes.length > MAX_MEDIA_BYTES) {
    throw new AgentProtocolError(
      `The agent answered with a file of ${bytes.length} bytes; at most ${MAX_MEDIA_BYTES} can be sent.`,
    );
  }
  const name = fileName?.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
  return { ...shownAs(mimeType, bytes), ...(name && { fileName: name }), bytes };
}

/** How a chat shows a file of an agent: Opus in OGG is a voice message, and WebP, which is shown as no picture, a sticker. */
export function shownAs(mimeType: string, bytes: Uint8Array): Pick<ReplyFile, 'kind' | 'mimeType'> {
  const type = detectMediaType(bytes);
  if (type === OPUS_TYPE && readOpusFile(bytes)) return { kind: 'voice', mimeType: type };
  if (type === 'image/webp' && bytes.length <= MAX_STICKER_BYTES) return { kind: 'sticker', mimeType: type };
  return { kind: kindOf(mimeType), mimeType };
}

/** How a chat shows a file of this media type. */
export function kindOf(mimeType: string): MediaKind {
  const type = mimeType.toLowerCase();
  if (/^video\/(?:mp4|3gpp)\b/.test(type)) return 'video';
  const [kind] = type.split('/');
  return kind === 'image' || kind === 'audio' ? kind : 'document';
}
