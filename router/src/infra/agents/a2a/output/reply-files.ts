import type { Part } from '@a2a-js/sdk';
import { shownAs } from '../../../../core/delivery/agent-file.ts';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { MAX_MEDIA_BYTES, type MediaInfo, type ReplyFile } from '../../../../core/models.ts';
import type { OwnHeaders } from '../../card-address.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';

/** Largest number of files of one answer that are sent; further ones are dropped. */
const MAX_FILES = 10;
const MAX_NAME_CHARS = 200;
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/;

/** A person's file as a part of a message. */
export function partOfFile({ mimeType, fileName }: MediaInfo, bytes: Uint8Array): Part {
  return {
    content: { $case: 'raw', value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) },
    metadata: undefined,
    filename: fileName ?? '',
    mediaType: mimeType,
  };
}

/** Files of an answer, and a line for each one that could not be loaded. */
export interface AnswerFiles {
  files: ReplyFile[];
  links: string[];
}

/**
 * The files among these parts, in order. One that is only named by a URL is loaded, with the limits of every request; when
 * that fails the person gets its address.
 * @throws {AgentProtocolError} one that the answer contains is too large to be sent
 */
export async function filesOf(
  parts: readonly Part[],
  {
    transport,
    headersFor,
    signal,
  }: { transport: AgentTransport; signal: AbortSignal } & Pick<OwnHeaders, 'headersFor'>,
): Promise<AnswerFiles> {
  const found: AnswerFiles = { files: [], links: [] };
  for (const part of parts) {
    const { content, filename, mediaType } = part;
    if (found.files.length + found.links.length >= MAX_FILES) break;
    if (content?.$case === 'raw') {
      if (content.value.length > MAX_MEDIA_BYTES) throw tooLarge(content.value.length);
      if (content.value.length > 0) found.files.push(fileOf(content.value, mediaType, filename));
    }
    if (content?.$case !== 'url') continue;
    const url = content.value;
    const loaded = isHttp(url) ? await load(url) : undefined;
    if (loaded) found.files.push(fileOf(loaded.body, mediaType || loaded.type, filename || nameIn(url)));
    else if (isHttp(url)) found.links.push(filename ? `${filename}: ${url}` : url);
  }
  return found;

  async function load(url: string): Promise<{ body: Buffer; type: string } | undefined> {
    const headers = headersFor(url);
    const fetched = await transport.fetch(url, { method: 'GET', headers, signal, maxBytes: MAX_MEDIA_BYTES });
    if (fetched.kind === 'fault' || fetched.status !== 200 || fetched.body.length === 0) return undefined;
    return { body: fetched.body, type: fetched.headers.get('content-type') ?? '' };
  }
}

function tooLarge(bytes: number): AgentProtocolError {
  return new AgentProtocolError(
    `The A2A agent answered with a file of ${bytes} bytes; at most ${MAX_MEDIA_BYTES} can be sent.`,
  );
}

function fileOf(bytes: Uint8Array, written: string, name: string): ReplyFile {
  const mimeType = MEDIA_TYPE.exec(written)?.[0] ?? 'application/octet-stream';
  const fileName = name.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
  return { ...shownAs(mimeType, bytes), ...(fileName && { fileName }), bytes };
}

function isHttp(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}

function nameIn(url: string): string {
  return new URL(url).pathname.split('/').at(-1) ?? '';
}
