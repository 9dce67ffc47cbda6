import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
} from 'node:crypto';
import type { FaceSettings } from '../../../../core/ports/face-settings.ts';

/** Where the key is stored, among the settings of faces. */
const STORED_AS = 'a2a-push-key';

/** Encrypts what is stored. */
export interface TextCipher {
  sealText(plaintext: string, context: string): string;
  openText(stored: string, context: string): string;
}

const CONTEXT = 'face_setting.a2a-push-key';

/** By which receivers of push notifications know that they are from this wa2ai (ES256, RFC 7518). */
export interface SigningKey {
  /** A JSON Web Token (RFC 7519) over the bytes of a body, with the time. */
  tokenFor(body: string, nowMs: number): string;
  /** The JSON Web Key Set (RFC 7517) with the public key. */
  keySet(): { keys: Array<Record<string, unknown>> };
}

/**
 * The key of all nodes of this database; made when it is first used. Two nodes that make one at once use the one that was
 * stored last from their next start on.
 * @throws {StorageUnavailableError}
 */
export async function signingKey(settings: FaceSettings, cipher: TextCipher): Promise<SigningKey> {
  const stored = await settings.get(STORED_AS);
  if (typeof stored === 'object' && stored !== null && 'pem' in stored && typeof stored.pem === 'string') {
    return keyOf(cipher.openText(stored.pem, CONTEXT));
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await settings.put(STORED_AS, { pem: cipher.sealText(pem, CONTEXT) });
  return keyOf(pem);
}

function keyOf(pem: string): SigningKey {
  const key = createPrivateKey(pem);
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
  // RFC 7638.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return {
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
