import { detectMediaType } from '../../../../core/delivery/media-type.ts';

/** Kinds of files that a template can make. */
export type AbiFileKind = 'image' | 'audio' | 'document';

const DEFAULT_TYPE: Record<AbiFileKind, string> = {
  image: 'image/jpeg',
  audio: 'audio/mpeg',
  document: 'application/octet-stream',
};

/** Media type of a file without a declared one: detected from the first bytes when it fits the kind, else the kind's default. */
export function mediaTypeOf(bytes: Uint8Array, kind: AbiFileKind): string {
  const detected = detectMediaType(bytes);
  const found = detected === 'audio/ogg' ? 'audio/ogg; codecs=opus' : detected;
  return found && (kind === 'document' || found.startsWith(kind)) ? found : DEFAULT_TYPE[kind];
}
