import { z } from 'zod';

/** Which of WhatsApp's keys a file is encrypted with (MEDIA_HKDF_KEY_MAPPING of Baileys). */
const FILE_TYPES = ['image', 'video', 'audio', 'document', 'sticker'] as const;
export type FileType = (typeof FILE_TYPES)[number];

const base64 = (bytes: number) =>
  z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((value) => value.length === bytes);

const storedReference = z.object({
  type: z.enum(FILE_TYPES),
  path: z.string().startsWith('/').max(4_096),
  mediaKey: base64(32),
  fileSha256: base64(32),
  fileEncSha256: base64(32),
  sizeBytes: z.number().optional(),
  /** The message with the file: a request to the phone names it. */
  message: z.object({ id: z.string(), remoteJid: z.string(), participant: z.string().optional() }).optional(),
});

/** Where a file is stored, its key and its hashes. The key makes it a secret. */
export type MediaReference = z.output<typeof storedReference>;

/**
 * The reference to a file, as text for the inbox; `` when the message does not have all that a download needs.
 * Of a URL only the path is stored: wa2ai chooses the host, not the message. A URL of a foreign host gives no
 * reference.
 */
export function writeReference(type: FileType, media: Record<string, unknown>, sizeBytes?: number): string {
  const path = pathOf(media);
  const [mediaKey, fileSha256, fileEncSha256] = [media.mediaKey, media.fileSha256, media.fileEncSha256].map(
    (value) =>
      value instanceof Uint8Array && value.length === 32 ? Buffer.from(value).toString('base64') : '',
  );
  if (!path || !mediaKey || !fileSha256 || !fileEncSha256) return '';
  return JSON.stringify({ type, path, mediaKey, fileSha256, fileEncSha256, sizeBytes });
}

/** The reference with some fields replaced; `` is returned unchanged. */
export function changeReference(
  reference: string,
  change: Partial<Pick<MediaReference, 'path' | 'message'>>,
): string {
  return reference === '' ? '' : JSON.stringify({ ...JSON.parse(reference), ...change });
}

/** Reads a text of `writeReference`; undefined for any other text. */
export function readReference(text: string): MediaReference | undefined {
  try {
    return storedReference.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function pathOf({ directPath, url }: Record<string, unknown>): string | undefined {
  if (typeof directPath === 'string' && isPath(directPath)) return directPath;
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { protocol, hostname, pathname, search } = new URL(url);
  // WhatsApp does not have a file of a foreign URL: a download and a request to the phone would only take time.
  if (protocol !== 'https:' || !hostname.endsWith('.whatsapp.net')) return undefined;
  return isPath(pathname + search) ? pathname + search : undefined;
}

function isPath(text: string): boolean {
  return /^\/[\x21-\x7e]{1,4000}$/.test(text);
}
