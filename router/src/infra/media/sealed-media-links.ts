import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { LinkedFile, MediaLinks } from '../../core/ports/media.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** How long a link works. */
const VALID_MS = 3_600_000;
/** Below it, `GET /api/media/{token}` answers. */
const PATH = '/api/media/';
const TOKEN = /^[\w-]{40,8192}$/;

const content = z.object({
  accountId: z.string(),
  messageId: z.string().optional(),
  reference: z.string(),
  mimeType: z.string(),
  fileName: z.string().optional(),
  expiresAtMs: z.number(),
});

interface SealedMediaLinksDeps {
  /** Where agents reach wa2ai, without a slash at the end. Absent: there are no links. */
  publicUrl?: string;
  /** 32 bytes, the same on all nodes. @throws {StorageUnavailableError} */
  key(): Promise<Uint8Array>;
  clock: Pick<Clock, 'now'>;
}

/**
 * Links that contain what they lead to, encrypted and signed (AES-256-GCM) with a key of the database. So a link works on
 * every node and after the end of its turn, nothing is stored for it, and nobody can guess or change one.
 */
export class SealedMediaLinks implements MediaLinks {
  readonly #deps: SealedMediaLinksDeps;

  constructor(deps: SealedMediaLinksDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#deps.publicUrl !== undefined;
  }

  async urlOf({
    accountId,
    messageId,
    reference,
    mimeType,
    fileName,
  }: LinkedFile): Promise<string | undefined> {
    const { publicUrl, key, clock } = this.#deps;
    if (publicUrl === undefined) return undefined;
    const expiresAtMs = clock.now() + VALID_MS;
    const text = JSON.stringify({ accountId, messageId, reference, mimeType, fileName, expiresAtMs });
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, await key(), iv);
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${publicUrl}${PATH}${sealed.toString('base64url')}`;
  }

  async open(token: string): Promise<LinkedFile | 'expired' | 'unknown'> {
    if (!TOKEN.test(token)) return 'unknown';
    const { key, clock } = this.#deps;
    const text = decrypted(Buffer.from(token, 'base64url'), await key());
    const read = text === undefined ? undefined : content.safeParse(JSON.parse(text)).data;
    if (!read) return 'unknown';
    const { expiresAtMs, ...file } = read;
    return clock.now() < expiresAtMs ? file : 'expired';
  }
}

function decrypted(sealed: Buffer, key: Uint8Array): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const body = sealed.subarray(IV_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
