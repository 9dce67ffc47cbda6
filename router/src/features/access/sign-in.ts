import { createHash } from 'node:crypto';
import { ADDRESS_DELAYS, type DelayRule, delaysOf, NAME_DELAYS } from '../../core/access/login-delays.ts';
import { networkOf } from '../../core/access/network-of.ts';
import { userKeyOf } from '../../core/access/user-key.ts';
import { isLoggedOccurrence } from '../../core/log-throttle.ts';
import type { ConsoleSession, ConsoleSessions } from '../../core/ports/console-sessions.ts';
import type { ConsoleUsers, StoredConsoleUser } from '../../core/ports/console-users.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { Access, Connection } from '../../infra/operations/access.ts';
import {
  adminKeyMac,
  deviceIdOf,
  newDevice,
  newSessionToken,
  sessionTokenHash,
} from '../../infra/operations/session-cookie.ts';
import type { LoginAttempts } from './login-attempts.ts';
import type { PasswordHasher } from './passwords.ts';

/** When too many passwords wait for their check. */
const BUSY_WAIT_MS = 2_000;
const MAX_USER_AGENT_CHARS = 200;

export interface SignInDeps {
  /** WA2AI_API_KEY, if there is one. */
  adminKey: string | undefined;
  access: Pick<Access, 'isAdminKey'>;
  users: Pick<ConsoleUsers, 'find'>;
  sessions: Pick<ConsoleSessions, 'create'>;
  attempts: LoginAttempts;
  passwords: PasswordHasher;
  log: Logger;
}

/** The browser that signs in. */
export interface SignInFrom {
  connection: Connection;
  userAgent?: string;
  /** What the browser got when it signed in before. */
  device?: string;
}

export type SignInResult =
  /** `device`: for the browser to keep; absent after a login with the admin key. */
  | { kind: 'signed-in'; token: string; session: ConsoleSession; device?: string }
  /** `user`: the name is that of a user; a name that is unknown may be a mistyped password and is not repeated. */
  | { kind: 'refused'; user?: string }
  | { kind: 'delayed'; retryAfterMs: number };

/** Begins sessions: with the admin key, or with the name and password of a user. */
export class SignIn {
  readonly #deps: SignInDeps;
  #failures = 0;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  /** A wrong key delays the check of the next one, as Access does. @throws {StorageUnavailableError} */
  async withAdminKey(key: string, from: SignInFrom): Promise<SignInResult> {
    const { adminKey, access } = this.#deps;
    if (adminKey === undefined || !(await access.isAdminKey(key, from.connection)))
      return { kind: 'refused' };
    return this.#begin(from, {}, (token) => ({ adminKeyMac: adminKeyMac(adminKey, token) }));
  }

  /** Takes as long for an unknown name as for a known one. @throws {StorageUnavailableError} */
  async withPassword(name: string, password: string, from: SignInFrom): Promise<SignInResult> {
    const user = await this.#deps.users.find(name);
    const known = user && from.device && deviceIdOf(from.device, user.name, user.passwordHash);
    const checked = await this.checkPassword({
      ...{ name, user, password, address: from.connection.address },
      ...(known && { browser: `device:${known}` }),
    });
    if (checked !== 'correct') {
      if (checked !== 'wrong') return checked;
      return { kind: 'refused', ...(user && { user: user.name }) };
    }
    const begun = await this.#begin(from, { userName: name }, () => ({}));
    if (begun.kind !== 'signed-in' || !user) return begun;
    return { ...begun, device: newDevice(user.name, user.passwordHash) };
  }

  /**
   * Checks a password, and slows down those who guess one. Attempts count for the name and for the address, so that anybody
   * who knows a name delays its other attempts. A browser that the user signed in with before has a count of its own:
   * attempts of others do not delay it.
   * @param user absent or disabled: no password is correct
   * @param browser names such a browser
   * @throws {StorageUnavailableError}
   */
  async checkPassword(input: {
    name: string;
    user: StoredConsoleUser | undefined;
    password: string;
    address: string;
    browser?: string;
  }): Promise<'correct' | 'wrong' | { kind: 'delayed'; retryAfterMs: number }> {
    const { attempts, passwords } = this.#deps;
    const { name, user, password, address, browser } = input;
    const addressKey = `address:${networkOf(address)}`;
    // A hash: a person may have typed the password in the place of the name.
    const nameKey = `name:${createHash('sha256').update(userKeyOf(name)).digest('hex')}`;
    const rules: Array<[string, DelayRule]> =
      browser === undefined
        ? [
            [addressKey, ADDRESS_DELAYS],
            [nameKey, NAME_DELAYS],
          ]
        : [[browser, NAME_DELAYS]];
    for (const [key, rule] of rules) {
      const retryAfterMs = await attempts.begin({ key, delaysMs: delaysOf(rule) });
      if (retryAfterMs > 0) return { kind: 'delayed', retryAfterMs };
    }
    const isCorrect = await passwords.verify(user?.passwordHash, password);
    if (isCorrect === 'busy') {
      for (const [key] of rules) await attempts.undo(key);
      return { kind: 'delayed', retryAfterMs: BUSY_WAIT_MS };
    }
    if (isCorrect && user && !user.disabledAt) {
      if (browser === undefined) await attempts.undo(addressKey);
      await attempts.forget(browser ?? nameKey);
      return 'correct';
    }
    this.#failures += 1;
    if (isLoggedOccurrence(this.#failures)) {
      this.#deps.log.warn({ address, failures: this.#failures }, 'wrong name or password');
    }
    return 'wrong';
  }

  async #begin(
    { connection, userAgent }: SignInFrom,
    of: { userName?: string },
    bound: (token: string) => { adminKeyMac?: Uint8Array },
  ): Promise<SignInResult> {
    const { id, token } = newSessionToken();
    const session = await this.#deps.sessions.create({
      id,
      tokenHash: sessionTokenHash(token),
      ...of,
      ...bound(token),
      ...(userAgent !== undefined && { userAgent: userAgent.slice(0, MAX_USER_AGENT_CHARS) }),
      address: connection.address,
    });
    if (!session) return { kind: 'refused' };
    this.#deps.log.info({ sessionId: id, ...(session.user && { role: session.user.role }) }, 'signed in');
    return { kind: 'signed-in', token, session };
  }
}
