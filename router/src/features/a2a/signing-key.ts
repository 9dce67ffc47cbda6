import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  randomUUID,
  sign,
} from 'node:crypto';
import { z } from 'zod';
import type { FaceSettings } from '../../core/ports/face-settings.ts';

/** Where the key is stored, among the settings of faces. */
const STORED_AS = 'a2a-push-key';
const storedKey = z.object({ pem: z.string() });

/** Encrypts what is stored. */
export interface TextCipher {
  seal(plaintext: string): string;
  open(stored: string): string;
}

/** By which receivers of push notifications know that they are from this wa2ai (ES256, RFC 7518). */
export interface SigningKey {
  /** A JSON Web Token (RFC 7519) over the bytes of a body, with the time. */
  tokenFor(body: string, nowMs: number): string;
  /** The JSON Web Key Set (RFC 7517) with the public key. */
  keySet(): { keys: Array<Record<string, unknown>> };
  /** Another secret of 32 bytes for this purpose, the same on all nodes (HKDF, RFC 5869). */
  derive(purpose: string): Uint8Array;
}

/** The key of all nodes of this database; made when it is first used. @throws {StorageUnavailableError} */
export async function signingKey(settings: FaceSettings, cipher: TextCipher): Promise<SigningKey> {
  const stored = storedKey.safeParse(await settings.get(STORED_AS));
  const { pem } = stored.success ? stored.data : await storeNewKey(settings, cipher);
  return keyOf(cipher.open(pem));
}

/** @returns what is stored: another node may have been first */
async function storeNewKey(settings: FaceSettings, cipher: TextCipher): Promise<z.output<typeof storedKey>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return storedKey.parse(await settings.putFirst(STORED_AS, { pem: cipher.seal(pem) }));
}

function keyOf(pem: string): SigningKey {
  const key = createPrivateKey(pem);
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
  // RFC 7638.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return {
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', pem, '', purpose, 32)),
    tokenFor: (body, nowMs) => {
      const claims = {
        iat: Math.floor(nowMs / 1_000),
        jti: randomUUID(),
        request_body_sha256: createHash('sha256').update(body).digest('hex'),
      };
      const signed = [{ alg: 'ES256', typ: 'JWT', kid }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    keySet: () => ({ keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] }),
  };
}
