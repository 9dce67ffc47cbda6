import { createHash, createHmac, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const ID_BYTES = 9;
const TOKEN_TEXT = /^[\w-]{43}$/;

/** A new session: the token of its cookie, which only the browser keeps, and its id. */
export function newSessionToken(): { id: string; token: string } {
  return {
    id: randomBytes(ID_BYTES).toString('base64url'),
    token: randomBytes(TOKEN_BYTES).toString('base64url'),
  };
}

/** Whether the text of a cookie can be a token. */
export function isSessionToken(text: string): boolean {
  return TOKEN_TEXT.test(text);
}

/** What is stored of a token. It is random, so that a fast hash protects it. */
export function sessionTokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Binds a session to the admin key with which it began. Nobody can guess the key from it, because the token is not
 * stored.
 */
export function adminKeyMac(adminKey: string, token: string): Buffer {
  return createHmac('sha256', adminKey).update(`wa2ai session ${token}`).digest();
}
