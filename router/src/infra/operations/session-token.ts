import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

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

/**
 * What a browser keeps to show that this user signed in with it. Nothing of it is stored: it is a code of the stored hash of
 * the password, so that it ends with the password. It allows nothing but attempts that have a count of their own.
 */
export function newDevice(name: string, passwordHash: string): string {
  const id = randomBytes(ID_BYTES).toString('base64url');
  return `${id}.${deviceMac(id, name, passwordHash)}`;
}

/** The id of the browser; undefined: this user never signed in with it, or had another password. */
export function deviceIdOf(device: string, name: string, passwordHash: string): string | undefined {
  const [id = '', mac = ''] = device.split('.');
  const expected = Buffer.from(deviceMac(id, name, passwordHash));
  const given = Buffer.from(mac);
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
}

function deviceMac(id: string, name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`wa2ai device ${id} ${name}`).digest('base64url');
}
