import { z } from 'zod';
import { AgentProtocolError } from '../../../core/errors.ts';
import {
  MAX_MEDIA_BYTES,
  type MediaInfo,
  type ReplyFile,
  type ReplyMediaKind,
} from '../../../core/models.ts';
import type { AdkEvent, InlineData } from './adk-wire.ts';

/** Largest number of files of one answer that are sent; further ones are dropped. */
const MAX_FILES = 10;
const MAX_NAME_CHARS = 200;

const filePart = z.looseObject({
  thought: z.boolean().nullish(),
  inlineData: z.looseObject({
    mimeType: z.string().regex(/^[\w.+-]{1,60}\/[\w.+-]{1,60}/),
    data: z.string().min(1),
    displayName: z.string().nullish(),
  }),
});

/** A message's file as a part of `newMessage`: every ADK server accepts camelCase inside parts (refs/adk_api.md). */
export function inlineDataOf({ mimeType, fileName }: MediaInfo, bytes: Uint8Array): InlineData {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return { mimeType, data, ...(fileName !== undefined && { displayName: fileName }) };
}

/**
 * The files in a run's complete model events, in order, without those of thoughts. Reads both alphabets of base64.
 * @throws {AgentProtocolError} one is too large to be sent
 */
export function filesIn(events: readonly AdkEvent[]): ReplyFile[] {
  const said = events.filter(
    ({ author, partial, content }) => author !== 'user' && !partial && (content?.role ?? 'model') === 'model',
  );
  const parts = said.flatMap(({ content }) => content?.parts ?? []);
  return parts
    .flatMap((part) => filePart.safeParse(part).data ?? [])
    .filter(({ thought }) => !thought)
    .slice(0, MAX_FILES)
    .map(({ inlineData }) => fileOf(inlineData))
    .filter(({ bytes }) => bytes.length > 0);
}

function fileOf({
  mimeType,
  data,
  displayName,
}: {
  mimeType: string;
  data: string;
  displayName?: string | null;
}): ReplyFile {
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MAX_MEDIA_BYTES) {
    throw new AgentProtocolError(
      `The ADK agent answered with a file of ${bytes.length} bytes; at most ${MAX_MEDIA_BYTES} can be sent.`,
    );
  }
  const fileName = displayName?.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
  return { kind: kindOf(mimeType), mimeType, ...(fileName && { fileName }), bytes };
}

function kindOf(mimeType: string): ReplyMediaKind {
  const [kind] = mimeType.split('/');
  return kind === 'image' || kind === 'audio' ? kind : 'document';
}
