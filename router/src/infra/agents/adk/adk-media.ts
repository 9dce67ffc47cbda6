import { z } from 'zod';
import { agentFile, MEDIA_TYPE } from '../../../core/delivery/agent-file.ts';
import { type FileLink, MAX_MEDIA_BYTES, type MediaInfo, type ReplyFile } from '../../../core/models.ts';
import type { AdkEvent, FilePart } from './adk-wire.ts';

/** Largest number of files of one answer that are sent; further ones are dropped. */
const MAX_FILES = 10;

const filePart = z.looseObject({
  thought: z.boolean().nullish(),
  inlineData: z.looseObject({
    mimeType: z.string().regex(MEDIA_TYPE),
    data: z.string().min(1),
    displayName: z.string().nullish(),
  }),
});

const linkPart = z.looseObject({
  thought: z.boolean().nullish(),
  fileData: z.looseObject({
    fileUri: z.string().regex(/^https?:\/\//i),
    mimeType: z.string().regex(MEDIA_TYPE).nullish(),
    displayName: z.string().nullish(),
  }),
});

/**
 * What Gemini models read. A file stays in the session: a model that cannot read it would refuse each later message too.
 * https://ai.google.dev/gemini-api/docs/document-processing, and the pages about images, audio and video.
 */
const READABLE =
  /^(?:image\/(?:jpeg|png|webp|heic|heif)|audio\/(?:ogg|mpeg|mp3|mp4|aac|wav|x-wav|flac|aiff)|video\/(?:mp4|mpeg|webm|quicktime|3gpp)|application\/pdf|text\/plain)(?:;|$)/i;

/** Whether an agent gets a file where its settings do not say it. */
export function isReadable({ mimeType, sizeBytes = 0 }: MediaInfo): boolean {
  return READABLE.test(mimeType.trim()) && sizeBytes <= MAX_MEDIA_BYTES;
}

/** A message's file as a part of `newMessage`: every ADK server accepts camelCase inside parts (refs/adk_api.md). */
export function inlineDataOf({ mimeType, fileName }: MediaInfo, bytes: Uint8Array): FilePart {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return { inlineData: { mimeType, data, ...(fileName !== undefined && { displayName: fileName }) } };
}

/** The same with an address in place of the bytes. */
export function fileDataOf({ mimeType, fileName }: MediaInfo, fileUri: string): FilePart {
  return { fileData: { mimeType, fileUri, ...(fileName !== undefined && { displayName: fileName }) } };
}

/**
 * The files in a run's complete model events, in order, without those of thoughts. Reads both alphabets of base64.
 * @throws {AgentProtocolError} one is too large to be sent
 */
export function filesIn(events: readonly AdkEvent[]): ReplyFile[] {
  return partsOfAnswer(events)
    .flatMap((part) => filePart.safeParse(part).data ?? [])
    .filter(({ thought }) => !thought)
    .slice(0, MAX_FILES)
    .map(({ inlineData: { mimeType, data, displayName } }) =>
      agentFile({ mimeType, data, fileName: displayName }),
    )
    .filter(({ bytes }) => bytes.length > 0);
}

/** The files that they name by an address of the web, likewise. */
export function fileLinksIn(events: readonly AdkEvent[]): FileLink[] {
  return partsOfAnswer(events)
    .flatMap((part) => linkPart.safeParse(part).data ?? [])
    .filter(({ thought }) => !thought)
    .slice(0, MAX_FILES)
    .map(({ fileData: { fileUri, mimeType, displayName } }) => ({
      url: fileUri,
      ...(mimeType && { mimeType }),
      ...(displayName && { fileName: displayName }),
    }));
}

function partsOfAnswer(events: readonly AdkEvent[]): unknown[] {
  return events
    .filter(
      ({ author, partial, content }) =>
        author !== 'user' && !partial && (content?.role ?? 'model') === 'model',
    )
    .flatMap(({ content }) => content?.parts ?? []);
}
