import { z } from 'zod';
import { agentFile, MEDIA_TYPE } from '../../../core/delivery/agent-file.ts';
import type { MediaInfo, ReplyFile } from '../../../core/models.ts';
import type { AdkEvent, InlineData } from './adk-wire.ts';

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
    .map(({ inlineData: { mimeType, data, displayName } }) =>
      agentFile({ mimeType, data, fileName: displayName }),
    )
    .filter(({ bytes }) => bytes.length > 0);
}
