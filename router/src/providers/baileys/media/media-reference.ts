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
  /** The message of the file, by which the phone can be asked for it again. */
  message: z.object({ id: z.string(), remoteJid: z.string(), participant: z.string().optional() }).optional(),
});

/** Where a file is and what it must be; the key in it makes it a secret. */
export type MediaReference = z.output<typeof storedReference>;

/**
 * The text that stands for a file in the inbox; `` when the message does not say enough to fetch it.
 * Only the path is kept: the host is ours to choose, whatever a message names. An address of a foreign host gives none.
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

/** The reference with some of it replaced; `` stays what it is. */
export function changeReference(
  reference: string,
  change: Partial<Pick<MediaReference, 'path' | 'message'>>,
): string {
  return reference === '' ? '' : JSON.stringify({ ...JSON.parse(reference), ...change });
}

/** What `writeReference` wrote; undefined for anything else. */
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
  // The path of a foreign address is no file of WhatsApp's: looking for it there, and asking the phone, takes long.
  if (protocol !== 'https:' || !hostname.endsWith('.whatsapp.net')) return undefined;
  return isPath(pathname + search) ? pathname + search : undefined;
}

function isPath(text: string): boolean {
  return /^\/[\x21-\x7e]{1,4000}$/.test(text);
}
